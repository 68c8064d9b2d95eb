/** How small GET routes answer: with an id, a document or a refusal, and one log line. Rules: contract.md "Errors"; requests.md "Request ids". */

import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { shownPath } from '../core/shown-path.ts'
import { type Exchange, ownerOf } from '../relay/exchange.ts'
import { refuseAfterBody } from '../relay/refuse-after-body.ts'
import { pathOf as sentPathOf } from '../relay/request-target.ts'
import type { Client } from './client-address.ts'

/**
 * The request of a small route, as the `key` macro found it: with a key that may be answered, or with a refusal, and the key of that where one was known. A refusal
 * without a key is logged for the `client`.
 */
export type Asker = Readonly<{ request: Request; client: Client; exchange: Exchange }> & Admission
export type Admission = Readonly<{ key: KeyRecord; refusal?: undefined } | { key?: KeyRecord; refusal: Refusal }>

/** Answers one small GET with the document that `find` has for the key. */
export const answerSmall = <Document>(
  asker: Asker,
  find: (key: KeyRecord) => Document | Refusal | Promise<Document | Refusal>,
): Promise<Response> => answerWith(asker, find, (document, headers) => answerJson(document, 200, headers))

/** Answers one small GET with the response that `write` makes of what `find` found; `headers` are those of every answer. */
export async function answerWith<Found>(
  asker: Asker,
  find: (key: KeyRecord) => Found | Refusal | Promise<Found | Refusal>,
  write: (found: Found, headers: Record<string, string>) => Response,
): Promise<Response> {
  if (asker.refusal !== undefined) return refuseAsker(asker, asker.refusal)
  const { request, exchange, key, client } = asker
  const found = await find(key)
  if (found instanceof Refusal) return refuseAsker(asker, found)
  exchange.end({ ...ownerOf(key, client), status: 200 })
  return write(found, exchange.headers(request.headers.get('origin')))
}

export function refuseAsker(asker: Asker, refusal: Refusal): Promise<Response> {
  const { request, exchange, key, client } = asker
  const path = refusal.name === 'notFound' ? { path: pathOf(request) } : {}
  return refuseAfterBody(request, () => exchange.refuse(refusal, request.headers.get('origin'), { ...ownerOf(key, client), ...path }))
}

/** The path that a 404's log line shows. */
export const pathOf = (request: Request): string => shownPath(sentPathOf(request.url))

/** No answer of these routes may be cached: each is a key's own, or true only now. */
export const answerJson = (document: unknown, status: number, headers: Record<string, string>): Response =>
  new Response(JSON.stringify(document), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
