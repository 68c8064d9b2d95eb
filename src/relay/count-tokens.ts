/** `POST /v1/messages/count_tokens`: forwarded, never billed, needs no balance, counts in the rate limit. Source: product.md "Requests"; wire.md §2.7. */

import { modelOf } from '../core/catalog.ts'
import { readCountTokens } from '../core/formats/messages/format.ts'
import { isObject } from '../core/json.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import type { Fault } from '../upstream/upstream.ts'
import type { World } from '../world.ts'
import { answerHeaders } from './answers.ts'
import { Deadline } from './deadline.ts'
import { type Connection, Exchange } from './exchange.ts'
import type { KeyLimits } from './key-limits.ts'
import { drain, readBody } from './read-body.ts'

const ROUTE = '/v1/messages/count_tokens'

export async function countTokens(
  world: World,
  keyLimits: KeyLimits,
  request: Request,
  identified: KeyRecord | Refusal,
  connection: Connection,
): Promise<Response> {
  const exchange = new Exchange(world, ROUTE, 'messages')
  connection.keepOpen()
  try {
    const counted = await count(world, keyLimits, request, identified)
    if (counted instanceof Uint8Array) {
      exchange.end({ status: 200, ...keyOf(identified) })
      const headers = { 'content-type': 'application/json', ...answerHeaders(exchange.requestId, world.corsOrigins(), connection.origin) }
      return new Response(counted as Uint8Array<ArrayBuffer>, { headers })
    }
    await drain(request)
    if (counted instanceof Refusal) return exchange.refuse(counted, connection.origin, keyOf(identified))
    const { refusal, upstream, cause, isAlarm } = counted
    return exchange.refuse(refusal, connection.origin, { ...keyOf(identified), upstream, cause, isAlarm })
  } finally {
    connection.restore()
  }
}

const keyOf = (key: KeyRecord | Refusal) => (key instanceof Refusal ? {} : { keyId: key.id, accountId: key.accountId })

/** The upstream's bytes, a refusal of ours, or the upstream's fault. */
async function count(
  world: World,
  keyLimits: KeyLimits,
  request: Request,
  key: KeyRecord | Refusal,
): Promise<Uint8Array | Refusal | Fault> {
  if (key instanceof Refusal) return key
  const limited = keyLimits.count(key.id)
  if (limited !== undefined) return limited
  const body = await readBody(request, world.limits().bodyBytes)
  if (body instanceof Refusal) return body
  const catalog = world.catalog()
  const call = readCountTokens(body, {
    headers: request.headers,
    find: (modelId) => modelOf(catalog, key.plan, modelId),
    recall: () => undefined,
  })
  if (call instanceof Refusal) return call
  const deadline = new Deadline(world.limits().startTimeoutMs)
  const { search: query } = new URL(request.url, 'http://localhost')
  const { model, body: native, version, betas } = call
  const reply = await world.upstream.call({ path: ROUTE, query, model, body: native, version, betas }, deadline.signal)
  if (reply.kind === 'fault') return deadline.reason === 'deadline' ? new Refusal('timedOut') : reply
  const bytes = await new Response(reply.body).bytes().catch(() => undefined)
  deadline.stop('done')
  return bytes !== undefined && isCount(bytes) ? bytes : new Refusal('upstreamBroken')
}

function isCount(bytes: Uint8Array): boolean {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isObject(json) && Number.isSafeInteger(json['input_tokens'])
  } catch {
    return false
  }
}
