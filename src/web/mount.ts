/**
 * Mounts pages on a listener: every path below their root goes to an app that is loaded with the first request for such a path, so that the app costs a start
 * and the paid path nothing. Rules: pages.md "Mounting"; platform.md "Elysia".
 */

import { Elysia, NotFoundError } from 'elysia'
import { boundedBytes } from '../core/bounded-bytes.ts'
import { Client } from '../http/client-address.ts'
import { noticeAway } from '../observe/away-notices.ts'
import { describeBug } from '../observe/bug.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { World } from '../world.ts'
import { missing, refuse } from './api/answers.ts'

/**
 * An app of pages; in the requests that it answers, the gateway has set the header of the client's address. `admit`: the refusal of a request of which only the head has been
 * read; undefined: its body may be read.
 */
export type Pages = Readonly<{ handle(request: Request): Promise<Response>; admit?(head: Request): Promise<Response | undefined> }>

/** The header in which the apps of pages find the client's address, as `http/client-address.ts` trusts it. A client's own header with this name is dropped. */
export const CLIENT_ADDRESS = 'x-tollgate-client-address'

/** The largest body that a form may send. */
const BODY_BYTES_MAX = 64 * 1024
const IS_JSON = /^application\/json\s*(?:;|$)/i

/** `root`: `/cabinet` or `/console`. */
export function mountPages(world: World, root: string, load: () => Promise<Pages>) {
  const app = loadedOnce(load)
  const answer = async ({ request, server }: { request: Request; server: Parameters<typeof addressed>[2] }): Promise<Response> => {
    try {
      const sent = await addressed(world, request, server)
      return typeof sent === 'string' ? unsent(sent) : uncached(await (await app()).handle(sent))
    } catch (bug) {
      if (bug instanceof PeopleAway) {
        noticeAway(world.log, bug.message)
        return refuse(503, 'This cannot be looked up at this moment. Try again', { retryAfterS: 1 })
      }
      world.log.alarm('a page failed by a bug', describeBug(bug))
      return refuse(500, 'Something went wrong on our side; try again')
    }
  }
  const hidden = { parse: 'none', detail: { hide: true } } as const
  return new Elysia({ name: `pages ${root}` })
    .get('/', ({ request }) => lead(request, root), hidden)
    .all(root, answer, hidden)
    .all(`${root}/*`, answer, hidden)
}

/** An app that could not be loaded is loaded again; an app in which a request failed stays, since it remembers the clients that guess codes. */
export function loadedOnce(load: () => Promise<Pages>): () => Promise<Pages> {
  let loading: Promise<Pages> | undefined
  return () => {
    loading ??= load().catch((bug: unknown) => {
      loading = undefined
      throw bug
    })
    return loading
  }
}

/** Why a request does not reach the app. */
export type Unsent = 'path' | 'too large' | 'not JSON'

function unsent(why: Unsent): Response {
  switch (why) {
    case 'path':
      return missing()
    case 'too large':
      return refuse(413, 'The request is too large')
    case 'not JSON':
      return refuse(415, 'The request is not JSON')
  }
}

/** Leads a browser from the bare address to the pages. Other clients get the listener's own 404. */
function lead({ headers }: Request, root: string): Response {
  if (!/\btext\/html\b/i.test(headers.get('accept') ?? '')) throw new NotFoundError()
  return new Response(null, { status: 303, headers: { location: root, 'cache-control': 'no-store', vary: 'accept' } })
}

/** Forbids caches to keep an answer that does not speak of caching: such an answer is about a person, or an error. */
function uncached(answer: Response): Response {
  if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
  answer.headers.set('x-content-type-options', 'nosniff')
  return answer
}

type ServerOf = ConstructorParameters<typeof Client>[2]

/** The request with the client's address, and a body that is JSON, bounded and whole. */
export async function addressed(world: World, request: Request, server: ServerOf): Promise<Request | Unsent> {
  const head = headOf(world, request, server)
  return head === 'path' ? head : await whole(head, request)
}

/** The request with the client's address, without its body. */
export function headOf(world: World, request: Request, server: ServerOf): Request | 'path' {
  if (!isReadable(request.url)) return 'path'
  const headers = new Headers(request.headers)
  headers.set(CLIENT_ADDRESS, new Client(world, request, server).ip)
  return new Request(request.url, { method: request.method, headers })
}

/** Whether there is a body to read. */
export const hasBody = ({ method, body }: Request): boolean => body !== null && method !== 'GET' && method !== 'HEAD'

/** The request that `head` begins, with the body of `request`. */
export async function whole(head: Request, request: Request): Promise<Request | Unsent> {
  if (request.body === null || !hasBody(request)) return head
  const bytes = await boundedBytes(request.body, BODY_BYTES_MAX)
  if (bytes === undefined) return 'too large'
  if (bytes.length === 0) return head
  const { url, method, headers } = head
  // JSON is required: a page of another site can send any other type from a form, without a preflight.
  if (!IS_JSON.test(headers.get('content-type') ?? '')) return 'not JSON'
  return new Request(url, { method, headers, body: bytes })
}

/** Whether the path is UTF-8: any other would reach the routes as a name that does not exist. And no part is a NUL, which nothing has and Postgres takes in no text. */
function isReadable(url: string): boolean {
  if (url.includes('%00')) return false
  try {
    decodeURIComponent(new URL(url).pathname)
    return true
  } catch {
    return false
  }
}
