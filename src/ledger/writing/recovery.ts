/** Takes over what a dead process left behind, when a thread opens its file. Rules: ledger.md "Spill", "Recovery". */

import type { LedgerFault } from '../thread-messages.ts'
import type { Spill } from './spill.ts'
import type { NotApplied, Store } from './store.ts'

/** `replayed`: ids of the requests whose receipts the spill had kept, and which are written now. */
export type Left = Readonly<{ recovered: number; replayed: readonly string[]; faults: readonly LedgerFault[] }>

/**
 * First writes the settles that the dead process had kept in its spill, then waives the requests that have none: each request is either settled or waived. What another
 * transaction's lock keeps out of the ledger stays in the spill, and no other request waits for it. All spills but the first are closed. `onStep`: told at most once a second.
 */
export function takeOver(
  spills: readonly Spill[],
  ledger: Pick<Store, 'recover'>,
  now: number,
  onStep: (step: string) => void = () => undefined,
): Left | NotApplied {
  const step = paced(onStep)
  const settled: string[] = []
  const faults: LedgerFault[] = []
  for (const [index, spill] of spills.entries()) {
    const replayed = spill.replay(() => step('what a spill has kept'))
    if (index > 0) spill.close()
    if (replayed.kind === 'failed') {
      if (replayed.isHeld === true) continue
      return replayed
    }
    settled.push(...replayed.settled)
    faults.push(...replayed.faults)
  }
  const recovered = ledger.recover(now, () => step('what an earlier run left in flight'))
  return typeof recovered === 'number' ? { recovered, replayed: settled, faults } : recovered
}

/** Limits how often steps are told: each becomes a line that the parent process reads, and there may be thousands. */
function paced(tell: (step: string) => void): (step: string) => void {
  let nextMs = Number.NEGATIVE_INFINITY
  return (step) => {
    const nowMs = performance.now()
    if (nowMs < nextMs) return
    nextMs = nowMs + STEP_MS
    tell(step)
  }
}

const STEP_MS = 1_000
