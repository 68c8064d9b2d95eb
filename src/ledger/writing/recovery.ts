/**
 * What a dead process left in flight: waived, with its tokens at the last mark. By boot, never by age, so that a clock that jumped releases nothing.
 * Rules: money.md "Crashes"; ledger.md "Recovery".
 */

import { picos, ZERO } from '../../core/money.ts'
import { costOf } from '../../core/pricing.ts'
import { dayAt } from '../../core/utc.ts'
import { callOf, ratesOf, usageOf } from '../reading/receipt-rows.ts'
import type { Debit } from '../task.ts'
import type { Priced } from './debits.ts'
import type { LeftMark } from './left-marks.ts'

/** The receipt of a request that died; its price number is that of the mark. */
export function recoveredDebit({ mark, accountNumber, price, upstream, otherAttempts }: LeftMark, now: number): Debit {
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
    attempts: otherAttempts + (upstream === null ? 0 : 1),
    ...(upstream === null ? {} : { upstream: callOf(upstream, mark) }),
  }
}

/** It counts for the day on which it began, at the price of its mark. */
export function recoveredOf(left: LeftMark, now: number): Priced {
  const debit = recoveredDebit(left, now)
  return { debit, price: debit.price, version: { modelId: left.modelId, rates: ratesOf(left.price) }, day: dayAt(debit.startedAt) }
}
