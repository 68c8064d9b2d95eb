/**
 * Mounts the operator's API below `/api` of the operator's listener: an app that is loaded with its first request. A body is read behind the token. Cookies mean nothing there, and no page of another
 * origin is told that it may ask. Rules: operator-api.md "Tokens", "Errors"; pages.md "Mounting".
 */

import { Elysia } from 'elysia'
import { noticeAway } from '../observe/away-notices.ts'
import { describeBug } from '../observe/bug.ts'
import { PeopleAway } from '../people/people-sql.ts'
import { refuseAfterBody } from '../relay/refuse-after-body.ts'
import type { World } from '../world.ts'
import { type addressed, hasBody, headOf, loadedOnce, type Pages, type Unsent, whole } from './mount.ts'
import { answer, Failure, peopleAway } from './operator-api/failure.ts'

export function mountApi(world: World, load: () => Promise<Pages>) {
  const app = loadedOnce(load)
  const handle = async (request: Request, server: Parameters<typeof addressed>[2]): Promise<Response> => {
    try {
      const head = headOf(world, request, server)
      if (head === 'path') return await refuseAfterBody(request, () => answer(UNSENT.path))
      const { admit, handle } = await app()
      // A client without a token sends no body that is kept.
      const refused = hasBody(request) ? await admit?.(head) : undefined
      if (refused !== undefined) return await refuseAfterBody(request, () => refused)
      const sent = await whole(head, request)
      if (typeof sent !== 'string') return await handle(sent)
      return await refuseAfterBody(request, () => answer(UNSENT[sent]))
    } catch (bug) {
      if (bug instanceof PeopleAway) {
        noticeAway(world.log, bug.message)
        return answer(peopleAway())
      }
      world.log.alarm('a page failed by a bug', describeBug(bug))
      return answer(new Failure(500, 'Service temporarily unavailable; retry later', 1))
    }
  }
  const withHeaders = async ({ request, server }: { request: Request; server: Parameters<typeof addressed>[2] }): Promise<Response> => {
    const response = await handle(request, server)
    const id = world.requestId()
    const isFinal = response.status >= 400 && !response.headers.has('retry-after')
    const own = {
      'x-request-id': id,
      'request-id': id,
      'x-content-type-options': 'nosniff',
      ...(isFinal ? { 'x-should-retry': 'false' } : {}),
    }
    for (const [name, value] of Object.entries(own)) response.headers.set(name, value)
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
    return response
  }
  const hidden = { parse: 'none', detail: { hide: true } } as const
  return new Elysia({ name: 'operator api' }).all('/api', withHeaders, hidden).all('/api/*', withHeaders, hidden)
}

const UNSENT: Readonly<Record<Unsent, Failure>> = {
  path: new Failure(404, 'The requested API endpoint does not exist'),
  'too large': new Failure(413, 'request body exceeds size limit'),
  'not JSON': new Failure(415, 'The body is not JSON: send content-type: application/json'),
}
