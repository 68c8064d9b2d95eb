/**
 * Waives requests that a dead process left in flight, with their tokens at the last checkpoint. They are chosen by boot and never by age, so that a clock that jumped releases
 * nothing. Rules: money.md "Crashes"; ledger.md "Recovery".
 */

import { picos, ZERO } from '../../core/money.ts'
import { costOf, type Rates } from '../../core/pricing.ts'
import { promptOf } from '../../core/usage.ts'
import { dayAt } from '../../core/utc.ts'
import { callOf, ratesOf, usageOf, versionOf } from '../columns/parts.ts'
import type { ReceiptCost } from '../columns/receipt.ts'
import type { Numbers } from '../sql/numbers.ts'
import type { Debit } from '../task.ts'
import type { Priced } from './debits.ts'
import type { OrphanedCheckpoint } from './orphaned-checkpoints.ts'
import { costAt, NO_RECEIPT_COST } from './receipt-cost.ts'

/** The receipt of a request that died; its price number is that of the checkpoint. */
export const recoveredDebit = (left: OrphanedCheckpoint, now: number): Debit => debitAt(left, ratesOf(left.price), now)

function debitAt({ checkpoint, accountNumber, upstream, otherAttempts }: OrphanedCheckpoint, rates: Rates, now: number): Debit {
  const usage = usageOf(checkpoint)
  return {
    requestId: checkpoint.requestId,
    accountNumber,
    keyNumber: checkpoint.keyNumber,
    price: checkpoint.priceNumber,
    format: checkpoint.format,
    isStream: checkpoint.isStream,
    holdPicos: checkpoint.holdPicos,
    startedAt: checkpoint.startedAt,
    ...(checkpoint.tag === null ? {} : { tag: checkpoint.tag }),
    hasCheckpoint: true,
    outcome: 'recovered',
    usageSource: checkpoint.basis,
    ...(checkpoint.bytesPerTokenThousandths === null ? {} : { bytesPerToken: checkpoint.bytesPerTokenThousandths / 1000 }),
    usage,
    costPicos: ZERO,
    waivedPicos: picos(costOf(usage, rates)),
    status: 200,
    firstByteMs: null,
    durationMs: checkpoint.markedAt - checkpoint.startedAt,
    now,
    attempts: otherAttempts + (upstream === null ? 0 : 1),
    ...(upstream === null ? {} : { upstream: callOf(upstream, checkpoint) }),
  }
}

/** A recovered receipt counts for the day on which the request began. Its price is that of its checkpoint, at the level of the prompt tokens that the checkpoint has. */
export function recoveredOf(left: OrphanedCheckpoint, now: number, numbers: Numbers): Priced {
  const held = versionOf(left.modelId, left.price)
  const version = numbers.versionFor(held, promptOf(usageOf(left.checkpoint)))
  const debit = debitAt(left, version.rates, now)
  return {
    debit,
    price: version === held ? debit.price : numbers.priceOf(version),
    version,
    day: dayAt(debit.startedAt),
    cost: costOfLeft(left),
  }
}

/** Its version is that of the prompt tokens that the checkpoint has. */
function costOfLeft({ modelId, upstreamCost, checkpoint }: OrphanedCheckpoint): ReceiptCost {
  if (upstreamCost === null) return NO_RECEIPT_COST
  const upstreamCostPicos = costAt(versionOf(modelId, upstreamCost), usageOf(checkpoint))
  return { upstreamCostNumber: upstreamCost.number, upstreamCostPicos, cacheLostPicos: null }
}
