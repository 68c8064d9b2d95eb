/** A receipt and an attempt as readers get them: with the names that stand for the numbers, and the rates of their price. */

import type { priceVersions, upstreams } from '../../../db/schema/prices.ts'
import type { attempts, receipts } from '../../../db/schema/requests.ts'
import type { FormatName } from '../../core/format.ts'
import { type Picos, picos } from '../../core/money.ts'
import type { Outcome, UsageSource } from '../../core/outcome.ts'
import type { Rates } from '../../core/pricing.ts'
import type { Usage } from '../../core/usage.ts'
import type { UpstreamCall } from '../ledger.ts'

export type ReceiptRow = Readonly<{
  requestId: string
  accountId: string
  keyId: string
  keyName: string
  modelId: string
  rates: Rates
  format: FormatName
  isStream: boolean
  outcome: Outcome
  usageSource: UsageSource
  /** What an estimate took for a token, else null. */
  bytesPerToken: number | null
  /** HTTP status that the client got. */
  status: number
  usage: Usage
  costPicos: Picos
  waivedPicos: Picos
  holdPicos: Picos
  /** Upstream calls that were made. */
  attempts: number
  /** The one that answered; for operators only. */
  upstream: UpstreamCall | null
  /** Unix milliseconds, as all times. */
  startedAt: number
  settledAt: number
  firstByteMs: number | null
  durationMs: number
}>

/** An upstream call that may have cost us money and is not its request's receipt. For operators only. */
export type AttemptRow = Readonly<{
  requestId: string
  number: number
  accountId: string
  keyId: string
  modelId: string
  upstream: UpstreamCall
  /** HTTP status of the upstream; null where none came. */
  status: number | null
  cause: string
  usageSource: UsageSource
  usage: Usage
  pricePicos: Picos
  startedAt: number
  durationMs: number
}>

type Names = { accountId: string; keyId: string; modelId: string }
type ReceiptParts = Names & {
  keyName: string
  receipt: typeof receipts.$inferSelect
  price: typeof priceVersions.$inferSelect
  upstream: typeof upstreams.$inferSelect | null
}
type AttemptParts = Names & { attempt: typeof attempts.$inferSelect; upstream: typeof upstreams.$inferSelect }

export function receiptOf({ receipt, price, upstream, ...names }: ReceiptParts): ReceiptRow {
  const { requestId, format, isStream, outcome, basis, bytesPerTokenThousandths, status, costPicos, waivedPicos, holdPicos } = receipt
  const { startedAt, settledAt, firstByteMs, durationMs } = receipt
  return {
    requestId,
    ...names,
    rates: ratesOf(price),
    format,
    isStream,
    outcome,
    usageSource: basis,
    bytesPerToken: bytesPerTokenThousandths === null ? null : bytesPerTokenThousandths / 1000,
    status,
    usage: usageOf(receipt),
    costPicos: picos(costPicos),
    waivedPicos: picos(waivedPicos),
    holdPicos: picos(holdPicos),
    attempts: receipt.attempts,
    upstream: upstream === null ? null : callOf(upstream, receipt),
    startedAt,
    settledAt,
    firstByteMs,
    durationMs,
  }
}

export function attemptOf({ attempt, upstream, ...names }: AttemptParts): AttemptRow {
  const { requestId, attempt: number, status, cause, basis, pricePicos, startedAt, durationMs } = attempt
  const call = callOf(upstream, attempt)
  const usage = usageOf(attempt)
  return { requestId, number, ...names, upstream: call, status, cause, usageSource: basis, usage, pricePicos, startedAt, durationMs }
}

type Ids = Readonly<{ upstreamMessageId: string | null; upstreamRequestId: string | null }>

export const callOf = ({ name, model }: Readonly<{ name: string; model: string }>, ids: Ids): UpstreamCall => ({
  name,
  model,
  ...(ids.upstreamMessageId === null ? {} : { messageId: ids.upstreamMessageId }),
  ...(ids.upstreamRequestId === null ? {} : { requestId: ids.upstreamRequestId }),
})

type Counters = Pick<
  typeof receipts.$inferSelect,
  'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'serverToolUses'
>

export const usageOf = (row: Counters): Usage => ({
  input: row.inputTokens,
  output: row.outputTokens,
  cacheRead: row.cacheReadTokens,
  cacheWrite5m: row.cacheWrite5mTokens,
  cacheWrite1h: row.cacheWrite1hTokens,
  serverToolUses: row.serverToolUses,
})

export const ratesOf = (price: typeof priceVersions.$inferSelect): Rates => ({
  input: price.inputRatePicos,
  output: price.outputRatePicos,
  cacheRead: price.cacheReadRatePicos,
  cacheWrite5m: price.cacheWrite5mRatePicos,
  cacheWrite1h: price.cacheWrite1hRatePicos,
  serverToolUse: price.serverToolUseRatePicos,
})
