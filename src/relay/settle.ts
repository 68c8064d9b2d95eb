/**
 * The end of every request that held money: its charge goes to the ledger exactly once. This is the only caller of `ledger.settle`. Rules: money.md "Settle";
 * architecture.md "A receipt".
 */

import type { KeyRecord } from '../core/key.ts'
import { type Picos, picos, ZERO } from '../core/money.ts'
import { isImplausible, type Observation } from '../core/native/observation.ts'
import { type Charge, chargeOf, type Outcome } from '../core/outcome.ts'
import { type Bounds, costOf, type Prices, ratesAt } from '../core/pricing.ts'
import { Refusal } from '../core/refusal.ts'
import { NO_USAGE } from '../core/usage.ts'
import type { UpstreamCall } from '../ledger/columns/parts.ts'
import type { Idempotency } from '../ledger/ledger.ts'
import type { RequestLine } from '../observe/request-line.ts'
import type { World } from '../world.ts'
import type { Exchange } from './exchange.ts'
import type { Rated } from './rate-gate.ts'

/** A hold that was granted, and what decides its charge. */
export type Held = Readonly<{
  key: KeyRecord
  modelId: string
  isStream: boolean
  /** SHA-256 of the conversation, salted with the account. */
  sessionHash: Uint8Array
  /** Present when the request has an `Idempotency-Key`. */
  idempotency?: Idempotency | undefined
  /** The request's place in the rates of its plan and key; absent: it has none. */
  rated?: Rated | undefined
  bounds: Bounds
  prices: Prices
  amountPicos: Picos
}>

/** Further log fields of an end. */
export type EndNotes = Partial<Pick<RequestLine, 'upstream' | 'cause' | 'isAlarm' | 'refusal'>>

export type Ended = Readonly<{
  outcome: Outcome
  observation: Observation
  /** The whole answer was read, also where its client has left: it is billed exactly. */
  isWhole?: boolean
  /** HTTP status that the client got. */
  status: number
  more?: EndNotes
}>

/**
 * `costPicos`: the receipt, or the release, is durable, so the client may see the end and what it cost. `unavailable`: the ledger could not write, so the client must
 * not get an answer that was not paid for; the ledger has put the money back, or does when it knows that no receipt was written.
 */
export type Kept = Readonly<{ costPicos: Picos }> | 'unavailable'

/** Only a request that was charged or is complete uses an Idempotency-Key up; any other can be sent again. Rules: requests.md "Repeated requests". */
export const usesUp = (outcome: Outcome, costPicos: Picos): boolean => outcome === 'complete' || costPicos > 0n

/** Settles or voids. */
export async function settle(world: World, exchange: Exchange, held: Held, ended: Ended): Promise<Kept> {
  const charge = chargeOf(ended.isWhole === true ? 'complete' : ended.outcome, ended.observation, held.bounds, held.prices)
  const { calls } = exchange
  if (charge !== 'void') held.rated?.settle(charge.usage)
  if (ended.outcome === 'fault' && ended.more?.cause !== 'bug') calls.broke()
  const answer =
    charge === 'void'
      ? world.ledger.void(exchange.requestId, calls.unpaid(ended.more?.cause ?? ended.outcome, world.clock.now()))
      : await commit(world, exchange, held, charge, ended)
  if (answer === 'already') world.log.alarm('a request was settled twice', { request_id: exchange.requestId })
  exchange.end({
    ...lineOf(held, charge, ended, answer !== 'unavailable', calls.hasMoved ? cacheLost(held, charge) : undefined),
    hasLostThinking: calls.hasLostThinking || undefined,
    disbelieved: charge !== 'void' && isImplausible(ended.observation) ? (calls.upstream?.name ?? 'unknown') : undefined,
  })
  return answer === 'unavailable' ? 'unavailable' : { costPicos: charge === 'void' ? ZERO : charge.costPicos }
}

/** The cost of writing the prompt into this upstream's cache, for a conversation that another upstream has in its cache; undefined: nothing. Rules: pool.md "Affinity". */
function cacheLost({ prices }: Held, charge: Charge): Picos | undefined {
  if (charge === 'void') return undefined
  const { cacheWrite5m, cacheWrite1h } = charge.usage
  const lostPicos = costOf({ ...NO_USAGE, cacheWrite5m, cacheWrite1h }, ratesAt(prices, charge.level))
  return lostPicos === ZERO ? undefined : lostPicos
}

/** The log line of an end. Where the ledger could not keep the receipt, the client gets no answer; a stream's 200 has gone out already. The ledger itself raises the alarm. */
function lineOf(
  held: Held,
  charge: Charge,
  { outcome, status, more }: Ended,
  isKept: boolean,
  cacheLostPicos: Picos | undefined,
): Omit<RequestLine, 'requestId' | 'route' | 'durationMs'> {
  const { key, modelId, isStream, amountPicos } = held
  const { source, usage, costPicos, waivedPicos, bytesPerToken } = charge === 'void' ? VOID : charge
  return {
    keyId: key.id,
    accountId: key.accountId,
    model: modelId,
    isStream,
    status: isKept || isStream ? status : new Refusal('storageUnavailable').row.status,
    refusal: isKept ? more?.refusal : 'storageUnavailable',
    outcome,
    usageSource: source,
    usage,
    costPicos,
    waivedPicos,
    bytesPerToken,
    costOverHoldPicos: costPicos !== undefined && costPicos > amountPicos ? picos(costPicos - amountPicos) : undefined,
    upstream: more?.upstream,
    cause: more?.cause,
    isAlarm: more?.isAlarm,
    cacheLostPicos,
  }
}

const VOID = { source: 'none', usage: undefined, costPicos: undefined, waivedPicos: undefined, bytesPerToken: undefined } as const

/** The log fields of a request that held money. */
export const describe = (held: Held): Partial<RequestLine> => ({
  keyId: held.key.id,
  accountId: held.key.accountId,
  model: held.modelId,
  isStream: held.isStream,
})

function commit(
  world: World,
  exchange: Exchange,
  held: Held,
  charge: Exclude<Charge, 'void'>,
  ended: Ended,
): Promise<'settled' | 'already' | 'unavailable'> {
  const others = exchange.calls.others()
  return world.ledger.settle({
    requestId: exchange.requestId,
    outcome: ended.outcome,
    usageSource: charge.source,
    usage: charge.usage,
    level: charge.level,
    promptTokens: charge.promptTokens,
    hasMoved: exchange.calls.hasMoved || undefined,
    costPicos: charge.costPicos,
    waivedPicos: charge.waivedPicos,
    status: ended.status,
    firstByteMs: exchange.firstByteMs,
    durationMs: exchange.elapsedMs,
    now: world.clock.now(),
    upstream: answererOf(exchange, ended.observation),
    attempts: exchange.calls.count,
    otherAttempts: others.length === 0 ? undefined : others,
    sessionHash: held.sessionHash,
    idempotency: usesUp(ended.outcome, charge.costPicos) ? held.idempotency : undefined,
    bytesPerToken: charge.bytesPerToken,
  })
}

/** The upstream that answered, with its own ids of the answer, as the ledger records it. */
export function answererOf({ calls: { upstream } }: Exchange, { messageId }: Observation): UpstreamCall | undefined {
  return upstream === undefined || messageId === undefined ? upstream : { ...upstream, messageId }
}
