/**
 * `/docs/operate` on the operator's listener: how a gateway is run. Nothing in it is secret, and only the guide's address is of this installation. Rules: requests.md
 * "Documents".
 */

import { Elysia } from 'elysia'
import { pathOf } from '../relay/request-target.ts'
import type { World } from '../world.ts'
import type { OperateShelf } from './operate-shelf.ts'
import { answerStatic, type StaticContent } from './static-answer.ts'

export function operateRoutes(world: World) {
  let loading: Promise<OperateShelf> | undefined
  const load = (): Promise<OperateShelf> => {
    loading ??= import('./operate-shelf.ts').then((module) => new module.OperateShelf(world.publicUrl))
    return loading
  }
  const look = () => import('./docs-look.ts')
  const answer = (request: Request, content: StaticContent, status?: number): Response =>
    answerStatic(request, content, { 'x-request-id': world.requestId() }, status)
  const answerPage = async ({ request }: { request: Request }): Promise<Response> => {
    const shelf = await load()
    const path = pathOf(request.url)
    const content = shelf.find(path) ?? (await shelf.picture(path))
    return content === undefined ? answer(request, shelf.missing(), 404) : answer(request, content)
  }
  return new Elysia({ name: 'operate docs' })
    .get('/docs', () => new Response(null, { status: 308, headers: { location: '/docs/operate' } }))
    .get('/docs/*', answerPage)
    .get('/docs/style.css', async ({ request }) => answer(request, (await look()).stylesheetAt(request.url)))
    .get('/docs/icon.svg', async ({ request }) => answer(request, (await look()).ICON))
}
