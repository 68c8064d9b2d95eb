/** Small GET routes: an id, a document or a refusal, one log line. Rules: spec "Errors"; product.md "Requests" (ids on every answer). */

import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { shownPath } from '../core/shown-path.ts'
import { answerHeaders } from '../relay/answers.ts'
import { refuseAfterBody } from '../relay/drain.ts'
import { Exchange } from '../relay/exchange.ts'
import type { World } from '../world.ts'

/** What a small route found: the document to answer with, and whose it is when that is known. */
export type Finding = Readonly<{ document: Record<string, unknown> | Refusal; key?: KeyRecord }>

/** Answers one small GET. `route` is the pattern for the log, `client` whom its refusals without a key are counted for. Elysia gives HEAD to GET routes; the spec has no HEAD, so it is a 404. */
export async function answerSmall(
  world: World,
  route: string,
  request: Request,
  client: string,
  find: () => Promise<Finding>,
): Promise<Response> {
  const origin = request.headers.get('origin')
  if (request.method === 'HEAD')
    return new Exchange(world, 'unknown').refuse(new Refusal('notFound'), origin, { client, path: pathOf(request) })
  const exchange = new Exchange(world, route)
  const { document, key } = await find()
  const owner = key === undefined ? { client } : { keyId: key.id, accountId: key.accountId }
  if (document instanceof Refusal) {
    const path = document.name === 'notFound' ? { path: pathOf(request) } : {}
    return refuseAfterBody(request, () => exchange.refuse(document, origin, { ...owner, ...path }))
  }
  exchange.end({ ...owner, status: 200 })
  return answerJson(document, 200, answerHeaders(exchange.requestId, world.corsOrigins(), origin))
}

/** What a 404's log line says that it was. */
export const pathOf = (request: Request): string => shownPath(URL.parse(request.url)?.pathname ?? '')

/** Nothing that is answered here may be cached: all of it is a key's own, or true only now. */
export const answerJson = (document: unknown, status: number, headers: Record<string, string>): Response =>
  new Response(JSON.stringify(document), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
