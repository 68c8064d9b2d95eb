/**
 * What a dead process left in flight: waived, with its tokens at the last mark. By boot, never by age, so that a clock that jumped releases nothing.
 * Rules: money.md "Crashes"; ledger.md "Recovery".
 */

import { picos, ZERO } from '../core/money.ts'
import { costOf, type Rates } from '../core/pricing.ts'
import type { Usage } from '../core/usage.ts'
import type { Statements } from './statements.ts'
import type { Debit } from './task.ts'

export type LeftMark = ReturnType<Statements['marksOfOtherBoots']['all']>[number]

/** The receipt of a request that died; its price number is that of the mark. */
export function recoveredDebit({ mark, accountNumber, price, upstream }: LeftMark, now: number): Debit {
  const usage = usageOf(mark)
  return {
    requestId: mark.requestId,
    accountNumber,
    keyNumber: mark.keyNumber,
    price: mark.priceNumber,
    format: mark.format,
    isStream: mark.isStream,
    holdPicos: mark.holdPicos,
    startedAt: mark.startedAt,
    isMarked: true,
    outcome: 'recovered',
    usageSource: mark.basis,
    ...(mark.bytesPerTokenThousandths === null ? {} : { bytesPerToken: mark.bytesPerTokenThousandths / 1000 }),
    usage,
    costPicos: ZERO,
    waivedPicos: picos(costOf(usage, ratesOf(price))),
    status: 200,
    firstByteMs: null,
    durationMs: mark.markedAt - mark.startedAt,
    now,
    ...(upstream === null ? {} : { upstream }),
  }
}

const usageOf = (mark: LeftMark['mark']): Usage => ({
  input: mark.inputTokens,
  output: mark.outputTokens,
  cacheRead: mark.cacheReadTokens,
  cacheWrite5m: mark.cacheWrite5mTokens,
  cacheWrite1h: mark.cacheWrite1hTokens,
  serverToolUses: mark.serverToolUses,
})

const ratesOf = (price: LeftMark['price']): Rates => ({
  input: price.inputRatePicos,
  output: price.outputRatePicos,
  cacheRead: price.cacheReadRatePicos,
  cacheWrite5m: price.cacheWrite5mRatePicos,
  cacheWrite1h: price.cacheWrite1hRatePicos,
  serverToolUse: price.serverToolUseRatePicos,
})
