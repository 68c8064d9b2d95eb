/** What is put off behind the settles ends no thread: a piece that cannot be done is told once, and is not tried again. Rules: ledger.md "Hours". */

import { expect, test } from 'bun:test'
import type { LedgerFault } from '../../src/ledger/thread-messages.ts'
import { WorkBehind } from '../../src/ledger/writing/work-behind.ts'

/** Timers that are due when the test says so. */
function timersAtOnce() {
  const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout]
  const due: (() => void)[] = []
  globalThis.setTimeout = ((run: () => void) => due.push(run)) as unknown as typeof setTimeout
  globalThis.clearTimeout = (() => undefined) as typeof clearTimeout
  const restore = (): void => {
    globalThis.setTimeout = set
    globalThis.clearTimeout = clear
  }
  return { due, restore }
}

test('a broken rule in the sums by hour is told once, and they rest until the next start', () => {
  const { due, restore } = timersAtOnce()
  try {
    const faults: LedgerFault[] = []
    const bug = new RangeError('the sum is too large')
    let pieces = 0
    const store = {
      rollUp() {
        pieces++
        if (pieces === 3) throw bug
        return true
      },
    }
    const behind = new WorkBehind(store, (fault) => faults.push(fault))
    for (let run = due.shift(); run !== undefined; run = due.shift()) run()
    expect(pieces).toBe(3)
    expect(faults).toEqual([{ problem: expect.stringContaining('sums by hour'), bug }])
    behind.stop()
  } finally {
    restore()
  }
})
