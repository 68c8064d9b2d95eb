/**
 * `/docs`, `/docs/{page}` as HTML and as Markdown, `/llms.txt`, and the API as `/openapi.json` and `/docs/api`. A page needs no key and costs nothing, so it has no log
 * line. Rules: requests.md "Documents".
 */

import { type AnyElysia, Elysia } from 'elysia'
import { answerHeaders } from '../relay/answer-headers.ts'
import { pathOf } from '../relay/request-target.ts'
import type { World } from '../world.ts'
import type { Shelf } from './docs-shelf.ts'
import { answerStatic, type StaticContent } from './static-answer.ts'

/** `described`: the app whose routes the API's documents describe. */
export function docsRoutes(world: World, described: () => AnyElysia) {
  let loading: Promise<Shelf> | undefined
  const load = (): Promise<Shelf> => {
    loading ??= import('./docs-shelf.ts').then((module) => new module.Shelf(world, described()))
    return loading
  }
  const look = () => import('./docs-look.ts')
  const answer = (request: Request, content: StaticContent, status?: number): Response => {
    const id = world.requestId()
    const headers = answerHeaders(id, world.corsOrigins(), request.headers.get('origin'))
    return answerStatic(request, content, 'vary' in headers ? { ...headers, vary: 'origin, accept-encoding' } : headers, status)
  }
  const answerPage = async ({ request }: { request: Request }): Promise<Response> => {
    const shelf = await load()
    const path = pathOf(request.url)
    const content = shelf.find(path)
    if (content !== undefined) return answer(request, content)
    const page = PLAIN_PATHS.get(path) ?? (path.endsWith('/') ? path.slice(0, -1) : path)
    if (page !== path && shelf.find(page) !== undefined) return new Response(null, { status: 308, headers: { location: page } })
    return answer(request, shelf.missing(), 404)
  }
  return new Elysia({ name: 'docs' })
    .get('/docs', answerPage)
    .get('/docs/*', answerPage)
    .get('/llms.txt', answerPage)
    .get('/openapi.json', answerPage)
    .get('/docs/style.css', async ({ request }) => answer(request, (await look()).stylesheetAt(request.url)))
    .get('/docs/icon.svg', async ({ request }) => answer(request, (await look()).ICON))
}

/** Addresses that people try, with the pages that they mean. */
const PLAIN_PATHS: ReadonlyMap<string, string> = new Map([
  ['/docs/quick-start', '/docs'],
  ['/docs/index.md', '/docs/quick-start.md'],
  ['/docs/llms.txt', '/llms.txt'],
])
