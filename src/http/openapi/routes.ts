/** `/openapi.json`, made when it is first asked for and again after a reload. Rules: product.md "Docs". Nothing in it is secret: every origin may read it. */

import type { AnyElysia } from 'elysia'
import { Elysia } from 'elysia'
import { type Catalog, modelsOf } from '../../core/catalog.ts'
import type { World } from '../../world.ts'
import { openApiDocument } from './document.ts'

/** Every key has this plan unless its owner was told otherwise. */
const PUBLIC_PLAN = 'default'

/** Describes the routes that `app` has by the first request. */
export function openApiRoutes(world: World, app: AnyElysia) {
  let made: { catalog: Catalog; text: string } | undefined
  const textOf = (catalog: Catalog): string => {
    if (made?.catalog !== catalog)
      made = { catalog, text: JSON.stringify(openApiDocument(app, { baseUrl: '/', modelId: exampleOf(catalog) })) }
    return made.text
  }
  return new Elysia({ name: 'openapi' }).get('/openapi.json', () => {
    const requestId = world.requestId()
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache', 'access-control-allow-origin': '*' }
    return new Response(textOf(world.catalog()), { headers: { ...headers, 'x-request-id': requestId, 'request-id': requestId } })
  })
}

const exampleOf = (catalog: Catalog): string => modelsOf(catalog, PUBLIC_PLAN).at(0)?.id ?? 'MODEL_ID'
