/** What a dead process left behind, taken over by the thread that opens its file. Rules: ledger.md "Spill", "Recovery". */

import type { Spill } from './spill.ts'
import type { NotApplied, Store } from './store.ts'
import type { LedgerFault } from './task.ts'

/** `replayed`: ids of the requests that have the receipt now that the spill had kept. */
export type Left = Readonly<{ recovered: number; replayed: readonly string[]; faults: readonly LedgerFault[] }>

/** First what it had kept, then what it had not: a request is one or the other. */
export function takeOver(spill: Spill, ledger: Store, now: number): Left | NotApplied {
  const replayed = spill.replay()
  if (replayed.kind === 'failed') return replayed
  const recovered = ledger.recover(now)
  return typeof recovered === 'number' ? { recovered, replayed: replayed.settled, faults: replayed.faults } : recovered
}
