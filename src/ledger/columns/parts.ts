/** The parts that rows of several tables share: counters, an upstream call, rates, rounded figures. */

import type { priceVersions } from '../../../db/schema/prices.ts'
import type { receipts } from '../../../db/schema/requests.ts'
import type { Rates } from '../../core/pricing.ts'
import type { Usage } from '../../core/usage.ts'

/** An upstream of the configuration, the id by which it knows the model, and its own ids of the answer, if it gave any. */
export type UpstreamCall = Readonly<{ name: string; model: string; messageId?: string; requestId?: string }>

/** The prices of a model during some time, ours or those of an upstream; a receipt names the version by which it was priced, and that of its cost. */
export type PriceVersion = Readonly<{
  modelId: string
  rates: Rates
  /** The prompt tokens above which this level applies; 0: it applies to any prompt. */
  abovePromptTokens: number
  /** All prices of a model that has levels, as price-levels.ts writes them; each level is a version of its own. '': the model has one price for every prompt. */
  group: string
  /** How many millionths of the rates are meant: a million, unless it is the cost at an upstream that is told as a factor. */
  factorMillionths: number
}>

/** The numbers by which a row names its price, boot and upstream. */
export type RowNumbers = Readonly<{ price: number; boot: number; upstream: number | null }>

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

export const versionOf = (modelId: string, price: typeof priceVersions.$inferSelect): PriceVersion => ({
  modelId,
  rates: ratesOf(price),
  abovePromptTokens: price.abovePromptTokens,
  group: price.priceGroup,
  factorMillionths: price.factorMillionths,
})

export const ratesOf = (price: typeof priceVersions.$inferSelect): Rates => ({
  input: price.inputRatePicos,
  output: price.outputRatePicos,
  cacheRead: price.cacheReadRatePicos,
  cacheWrite5m: price.cacheWrite5mRatePicos,
  cacheWrite1h: price.cacheWrite1hRatePicos,
  serverToolUse: price.serverToolUseRatePicos,
})

/** Rounds a duration, which is measured with fractions. */
export const wholeMs = (durationMs: number): number => Math.max(0, Math.round(durationMs))
export const thousandths = (bytesPerToken: number | undefined): number | null =>
  bytesPerToken === undefined ? null : Math.round(bytesPerToken * 1000)
