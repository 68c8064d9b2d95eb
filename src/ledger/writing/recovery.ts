/** Takes over what a dead process left behind, when a thread opens its file. Rules: ledger.md "Spill", "Recovery". */

import type { LedgerFault } from '../task.ts'
import type { Spill } from './spill.ts'
import type { NotApplied, Store } from './store.ts'

/** `replayed`: ids of the requests that have the receipt now that the spill had kept. */
export type Left = Readonly<{ recovered: number; replayed: readonly string[]; faults: readonly LedgerFault[] }>

/**
 * Writes first the settles that it had kept in its spill, then waives the requests without one: a request is one or the other. What another transaction's lock keeps out of the ledger stays where it is, and no other request waits for
 * that. All spills but the first are closed. `onStep`: told once a second while it goes on.
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

/** Each is a line for a parent to read, and there may be thousands. */
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
