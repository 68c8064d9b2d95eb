/** What is put off behind the settles ends no thread: a piece that cannot be done is told once, and is not tried again; what waits for a transaction of others is told after ten minutes. Rules: ledger.md "Hours". */

import { expect, test } from 'bun:test'
import type { LedgerFault } from '../../src/ledger/thread-messages.ts'
import type { RolledUp } from '../../src/ledger/writing/store.ts'
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
        return 'more' as const
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

test('sums that wait for a transaction that does not end are told after ten minutes, once until they go on', () => {
  const { due, restore } = timersAtOnce()
  try {
    const faults: LedgerFault[] = []
    let state: RolledUp = 'blocked'
    const behind = new WorkBehind({ rollUp: () => state }, (fault) => faults.push(fault))
    const look = (times: number): void => {
      for (let n = 0; n < times; n++) due.shift()?.()
    }
    const LOOKS = (10 * 60_000) / 250
    look(LOOKS - 1)
    expect(faults).toEqual([])
    look(3 * LOOKS)
    expect(faults).toEqual([{ problem: expect.stringMatching(/transaction.*pg_stat_activity/) }])
    state = 'none'
    look(1)
    state = 'blocked'
    look(LOOKS - 1)
    expect(faults).toHaveLength(1)
    look(1)
    expect(faults).toHaveLength(2)
    behind.stop()
  } finally {
    restore()
  }
})
