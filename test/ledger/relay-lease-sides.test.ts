/** What a relay is granted of a window beside others, in figures. Protects money.md "Budgets": a window that begins with the hour knows nothing of what was granted before it, an older one all of it. */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { backedOf, type LeasedWindow, type Parts, sideOf, usedUpOf, viewOf } from '../../src/ledger/writing/relay-lease-sides.ts'

const HOUR = 1_000
const windowOf = (per: 'hour' | 'day', left: bigint): LeasedWindow => ({
  left,
  isNew: per === 'hour',
  used: { per, resetsAt: per === 'hour' ? 1 : 2 },
})

/** Relay 1 holds 30, of which 20 since before the hour, and has leased 150; relay 2 leased 60 the hour before, and relay 3 has 20, of which 5 are for this hour. */
function sideWith(windows: readonly LeasedWindow[]) {
  const parts: Parts = new Map([
    [1, { amountPicos: 150n, moved: 1, hour: HOUR, currentPicos: 130n }],
    [2, { amountPicos: 60n, moved: 1, hour: HOUR - 1, currentPicos: 60n }],
    [3, { amountPicos: 20n, moved: 1, hour: HOUR, currentPicos: 5n }],
  ])
  const held = { heldPicos: picos(30n), earlierPicos: picos(20n) }
  const asked = { hour: HOUR, planBudgets: [], account: held, plan: held, key: held }
  return sideOf(parts, { left: undefined, windows }, { boot: 1, hour: HOUR, asked, runs: 30n, held })
}

test('of a window that begins with the hour is free what requests of the hour leave, of an older one what all leave, and the least of both counts', () => {
  for (const [windows, free] of [
    [[windowOf('hour', 100n)], 85n],
    [[windowOf('day', 200n)], 90n],
    [[windowOf('hour', 100n), windowOf('day', 200n)], 85n],
  ] as const)
    expect([windows.map(({ used }) => used.per), viewOf(sideWith(windows), 1n, 3).free]).toEqual([
      windows.map(({ used }) => used.per),
      free,
    ])
})

test('a lease is backed by what a window leaves beside the others: a new one beside what they have for the hour, and what runs since before it is no part of it', () => {
  expect(backedOf(sideWith([windowOf('hour', 100n)]), 1, false)).toEqual({ backedPicos: picos(115n), hasMore: true, isSmall: false })
  expect(backedOf(sideWith([windowOf('day', 200n)]), 1, false)).toEqual({ backedPicos: picos(120n), hasMore: true, isSmall: false })
  expect(backedOf(sideWith([windowOf('day', 400n)]), 1, false)).toEqual({ backedPicos: picos(150n), hasMore: false, isSmall: false })
})

test('of windows that are used up the one that ends last is told, in whichever order they stand', () => {
  const [hour, day] = [windowOf('hour', 0n), windowOf('day', -5n)]
  for (const windows of [
    [hour, day],
    [day, hour],
  ])
    expect(usedUpOf([viewOf(sideWith(windows), 1n, 3)])).toEqual({ per: 'day', resetsAt: 2 })
  expect(usedUpOf([viewOf(sideWith([hour, windowOf('day', 1n)]), 1n, 3)])).toEqual({ per: 'hour', resetsAt: 1 })
})
