/** What a dead process left in flight: settled at its last mark, or released where there is none. Rules: money.md "Crashes"; ledger.md "Recovery". */

import { ZERO } from '../core/money.ts'
import { costOf, type Rates } from '../core/pricing.ts'
import type { Usage } from '../core/usage.ts'
import type { NotApplied, SqliteLedger } from './sqlite-ledger.ts'
import type { Task } from './task.ts'

type LeftHold = ReturnType<SqliteLedger['holdsOfOtherBoots']>[number]

/**
 * By boot, never by age, so that a clock that jumped releases nothing. A mark that the database refuses (a broken upstream's figures) is released
 * instead: one bad hold must not keep the ledger closed. Returns how many holds there were.
 */
export function recover(ledger: SqliteLedger, now: number): number | NotApplied {
  const left = ledger.holdsOfOtherBoots()
  if (left.length === 0) return 0
  const settled = ledger.apply(left.map((hold) => endOf(hold, now)))
  if (settled.kind === 'failed') return settled
  const refused = ledger.holdsOfOtherBoots()
  if (refused.length === 0) return left.length
  const released = ledger.apply(refused.map(({ requestId }) => ({ kind: 'void', requestId })))
  if (released.kind === 'failed') return released
  const [fault] = released.faults
  return fault === undefined ? left.length : { kind: 'failed', problem: fault.problem }
}

function endOf(hold: LeftHold, now: number): Task {
  if (hold.markedAt === null) return { kind: 'void', requestId: hold.requestId }
  const usage = usageOf(hold)
  return {
    kind: 'settle',
    settlement: {
      requestId: hold.requestId,
      outcome: 'recovered',
      usageSource: 'partial',
      usage,
      costPicos: costOf(usage, ratesOf(hold)),
      waivedPicos: ZERO,
      status: 200,
      firstByteMs: null,
      durationMs: hold.markedAt - hold.startedAt,
      now,
    },
  }
}

const usageOf = (hold: LeftHold): Usage => ({
  input: hold.markedInputTokens,
  output: hold.markedOutputTokens,
  cacheRead: hold.markedCacheReadTokens,
  cacheWrite5m: hold.markedCacheWrite5mTokens,
  cacheWrite1h: hold.markedCacheWrite1hTokens,
  serverToolUses: hold.markedServerToolUses,
})

const ratesOf = (hold: LeftHold): Rates => ({
  input: hold.inputRatePicos,
  output: hold.outputRatePicos,
  cacheRead: hold.cacheReadRatePicos,
  cacheWrite5m: hold.cacheWrite5mRatePicos,
  cacheWrite1h: hold.cacheWrite1hRatePicos,
  serverToolUse: hold.serverToolUseRatePicos,
})
