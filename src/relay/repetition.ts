/**
 * The answer to a request that was sent before under its Idempotency-Key: the finished answer again, or a share in the running one. It calls no upstream and
 * costs nothing. Rules: requests.md "Repeated requests", "Joined answers", "Cost of an answer".
 */

import type { KeyRecord } from '../core/key.ts'
import { toUsdText, ZERO } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { RelayParts } from './admitted.ts'
import { repeatedBody } from './answer-body.ts'
import { addBalance, answerHeaders } from './answer-headers.ts'
import type { BodyLease } from './body-memory.ts'
import { type Connection, type Exchange, ownerOf } from './exchange.ts'
import { JoinedStream } from './joined-stream.ts'
import { keyBalanceOf } from './key-balance.ts'
import type { JoinedPlace, RunningAnswer, ShownAnswer } from './running-answer.ts'
import { STREAM_HEADERS } from './stream-head.ts'

/** `key`: the client's. `of`: the finished answer, or the running one with this request's place in it. `lease`: the memory of what is sent. */
export type Repetition = Readonly<{
  kind: 'repetition'
  key: KeyRecord
  of: ShownAnswer | Readonly<{ running: RunningAnswer; place: JoinedPlace }>
  lease: BodyLease
}>

type Asking = Readonly<{
  parts: Pick<RelayParts, 'world' | 'live' | 'timings' | 'rates'>
  request: Request
  connection: Connection
  exchange: Exchange
}>
type Repeating = Asking & Readonly<{ key: KeyRecord }>

/** `whenEnded`: resolves when a stream has ended, which goes on after its response. */
export type Repeated = Readonly<{ response: Response; whenEnded?: Promise<void> }>

export async function answerRepetition(asking: Asking, { key, of, lease }: Repetition): Promise<Repeated> {
  const repeating = { ...asking, key }
  if ('bytes' in of) return { response: await replayed(repeating, of, lease) }
  const { running, place } = of
  const { signal } = repeating.request
  if (signal.aborted) place.leave()
  signal.addEventListener('abort', () => place.leave())
  const shown = await running.shown()
  if (shown === 'stream') return joined(repeating, running, place)
  place.leave()
  return { response: shown instanceof Refusal ? refused(repeating, running, shown) : await replayed(repeating, shown, lease) }
}

async function replayed(repeating: Repeating, { head, bytes }: ShownAnswer, lease: BodyLease): Promise<Response> {
  const { exchange, key, connection } = repeating
  const headers = { 'content-type': head.contentType, 'cache-control': 'no-store', ...(await headersOf(repeating, head.requestId)) }
  connection.restore()
  const body = repeatedBody(bytes, lease)
  if (body instanceof Refusal) return exchange.refuse(body, connection.origin, ownerOf(key, connection.client))
  exchange.end({ status: head.status, replayOf: head.requestId, ...ownerOf(key, connection.client) })
  return new Response(body, { status: head.status, headers })
}

/** Answers with the error that the first request got. */
function refused(repeating: Repeating, { requestId }: RunningAnswer, refusal: Refusal): Response {
  const { exchange, key, connection } = repeating
  connection.restore()
  const headers = repeatedHeaders(repeating, requestId)
  return exchange.refuse(refusal, connection.origin, { replayOf: requestId, ...ownerOf(key, connection.client) }, headers)
}

async function joined(repeating: Repeating, running: RunningAnswer, place: JoinedPlace): Promise<Repeated> {
  const { parts, request, key, connection, exchange } = repeating
  const { world, live, timings } = parts
  const stream: JoinedStream = new JoinedStream({
    world,
    key,
    connection,
    answer: running,
    timings,
    onEnd: () => {
      place.leave()
      live.remove(stream)
      exchange.end({ status: 200, isStream: true, replayOf: running.requestId, ...ownerOf(key, connection.client) })
    },
  })
  live.add(stream)
  request.signal.addEventListener('abort', () => stream.left())
  const headers = { ...STREAM_HEADERS, ...(await headersOf(repeating, running.requestId)) }
  return { response: new Response(stream.body(), { headers }), whenEnded: stream.whenEnded }
}

const repeatedHeaders = ({ parts: { world, rates }, key, connection }: Repeating, requestId: string): Record<string, string> => ({
  ...answerHeaders(requestId, world.corsOrigins(), connection.origin),
  ...rates.headers(key),
  'idempotency-replayed': 'true',
})

/** The key's balance may have to be looked up; where that fails the headers leave it out. */
async function headersOf(repeating: Repeating, requestId: string): Promise<Record<string, string>> {
  const { parts, key } = repeating
  const headers = { ...repeatedHeaders(repeating, requestId), 'x-cost-usd': toUsdText(ZERO) }
  const keyBalance = await keyBalanceOf(parts.world, key)
  if (!(keyBalance instanceof Refusal)) addBalance(headers, keyBalance)
  return headers
}
