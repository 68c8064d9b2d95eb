/** `POST /v1/messages/count_tokens`: forwarded, never billed, needs no balance, counts in the rate limit. Rules: requests.md "Token counts". */

import { isObject } from '../core/json.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { answerFault } from '../upstream/fault.ts'
import { readWhole } from '../upstream/read-chunks.ts'
import type { Fault, Reply } from '../upstream/upstream.ts'
import type { RelayParts } from './admitted.ts'
import { Deadline } from './deadline.ts'
import { type Connection, Exchange, ownerOf } from './exchange.ts'
import { readBody } from './read-body.ts'
import { type Reading, readCall } from './read-call.ts'
import { refuseAfterBody } from './refuse-after-body.ts'
import { nativeQueryOf } from './request-target.ts'

const ROUTE = '/v1/messages/count_tokens'

/** An answer holds one number. */
const ANSWER_BYTES_MAX = 64 * 1024

export async function countTokens(
  parts: RelayParts,
  request: Request,
  identified: KeyRecord | Refusal,
  connection: Connection,
): Promise<Response> {
  const exchange = new Exchange(parts.world, ROUTE, 'messages')
  if (!(identified instanceof Refusal)) exchange.tellRates(() => parts.rates.headers(identified))
  connection.keepOpen()
  try {
    const counted = await count(parts, request, identified, exchange)
    if (counted === 'left') {
      exchange.end({ status: 200, outcome: 'leaver', ...ownerOf(identified, connection.client) })
      return new Response(null)
    }
    if (counted instanceof Uint8Array || 'estimate' in counted) {
      exchange.end({ status: 200, ...ownerOf(identified, connection.client) })
      return countResponse(counted, exchange.headers(connection.origin))
    }
    const refusal = counted instanceof Refusal ? counted : counted.refusal
    const fault = counted instanceof Refusal ? {} : { upstream: counted.upstream, cause: counted.cause, isAlarm: counted.isAlarm }
    return await refuseAfterBody(request, () =>
      exchange.refuse(refusal, connection.origin, { ...ownerOf(identified, connection.client), ...fault }),
    )
  } finally {
    connection.restore()
  }
}

/** The header `x-tokens-estimated` is set for an estimate of ours, and not for an upstream's count. */
function countResponse(counted: Uint8Array | Estimate, headers: Record<string, string>): Response {
  const all = { 'content-type': 'application/json', ...headers }
  if (counted instanceof Uint8Array) return new Response(counted as Uint8Array<ArrayBuffer>, { headers: all })
  return Response.json({ input_tokens: counted.estimate }, { headers: { ...all, 'x-tokens-estimated': 'true' } })
}

type Estimate = Readonly<{ estimate: number }>

/** The upstream's bytes, our estimate, a refusal of ours, or the upstream's fault; `left`: the client is gone. */
type Counted = Uint8Array | Estimate | Refusal | Fault | 'left'

async function count(parts: RelayParts, request: Request, key: KeyRecord | Refusal, exchange: Exchange): Promise<Counted> {
  const { world, keyLimits, rates, bodies } = parts
  if (key instanceof Refusal) return key
  if (world.isDraining()) return new Refusal('draining')
  const admitting = keyLimits.admit(key.id)
  const slot = admitting instanceof Promise ? await admitting : admitting
  if (slot instanceof Refusal) return slot
  const rated = await rates.admit(key, null)
  if (rated instanceof Refusal) {
    slot.release()
    return rated
  }
  const lease = bodies.lease(key)
  try {
    return await forward({ parts, request, key, lease }, exchange)
  } finally {
    lease.release()
    slot.release()
    rated.release()
  }
}

async function forward(reading: Reading, exchange: Exchange): Promise<Counted> {
  const { request } = reading
  const { world } = reading.parts
  const limits = world.limits()
  const received = await readBody(request, world, limits, reading.lease)
  if (received instanceof Refusal) return received
  const call = await readCall('countTokens', reading, received)
  if (call instanceof Refusal) return call
  const deadline = new Deadline(world, Math.min(limits.startTimeoutMs, limits.totalTimeoutMs - exchange.elapsedMs))
  const leave = (): void => deadline.stop('leaver')
  request.signal.addEventListener('abort', leave)
  if (request.signal.aborted) leave()
  try {
    const query = nativeQueryOf(request.url)
    const { model, body: native, version, betas, bounds } = call
    const { conversation: _, ...placed } = call.routing
    const asked = {
      path: ROUTE,
      query,
      model,
      body: native,
      isStream: false,
      version,
      betas,
      ...placed,
      accountId: reading.key.accountId,
    } as const
    const counted = await world.upstreams.call(asked, { stop: deadline, take: readCount, log: exchange.calls })
    if (deadline.reason === 'leaver') return 'left'
    if (!(counted instanceof Uint8Array) && counted.mayEstimate === true) return { estimate: Math.max(1, bounds.inputEstimate) }
    return counted instanceof Uint8Array || deadline.reason !== 'deadline' ? counted : new Refusal('timedOut')
  } finally {
    request.signal.removeEventListener('abort', leave)
    deadline.stop('done')
  }
}

/** The answer's bytes when they say how many tokens; a fault for anything else, a reset too. */
async function readCount({ upstream, body }: Reply): Promise<Uint8Array | Fault> {
  const bytes = await readWhole(body, ANSWER_BYTES_MAX)
  return typeof bytes !== 'string' && isCount(bytes) ? bytes : answerFault(upstream, typeof bytes === 'string' ? 'reset' : 'malformed')
}

function isCount(bytes: Uint8Array): boolean {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return isObject(json) && Number.isSafeInteger(json['input_tokens'])
  } catch {
    return false
  }
}
