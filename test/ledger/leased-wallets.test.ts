/** What a node's lease covers once the balance behind it was made less by another way than a settle, and what a node says that it holds by the hour. Rules: ledger.md "Leases"; money.md "Budgets". */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { HOUR_MS, hourAt } from '../../src/core/windows.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { KeyState } from '../../src/ledger/key-state.ts'
import type { LeaseSide } from '../../src/ledger/lease-move.ts'
import { holdRequest, NOW } from '../support/ledger.ts'

const rowWith = (balance: bigint, toppedUpAt: number | null = null): KeyState => ({
  ...{ keyId: 'key_1', keyNumber: 1, accountId: 'acc_1', accountNumber: 1, isActive: true, isAccountActive: true, plan: 'default' },
  ...{ expiresAt: null, limitPicos: null, spentPicos: ZERO, lastSyncedAt: 0 },
  balancePicos: picos(balance),
  toppedUpAt,
})
const side = (backed: bigint): LeaseSide => ({ backedPicos: picos(backed), hasMore: false, isSmall: false })

/** A balance of 100, of which this node has leased 60 and holds 10. */
function makeLeased(): Wallets {
  const wallets = new Wallets()
  wallets.keys.load(rowWith(100n))
  const ask = wallets.holdLeased(holdRequest('first', 'key_1', picos(10n)), 0)
  if (typeof ask !== 'object') throw new Error(`not asked for: ${ask}`)
  const sides = { account: side(60n), key: side(0n) }
  wallets.answered(ask, { verdict: 'granted', refusedBy: null, ...sides, balancePicos: picos(100n), spentPicos: ZERO }, 0)
  return wallets
}
const covers = (wallets: Wallets): unknown => wallets.holdCovered(holdRequest('next', 'key_1', picos(20n)), 0)
const credit = (amount: bigint) =>
  ({
    kind: 'credit',
    creditKind: 'correction',
    creditId: 'c',
    accountId: 'acc_1',
    amountPicos: picos(amount),
    ref: '',
    now: NOW,
  }) as const

test('a lease covers requests without asking, also behind a top-up here', () => {
  expect(covers(makeLeased())).toBe('held')
  const wallets = makeLeased()
  wallets.keys.apply(credit(50n), true)
  expect(covers(wallets)).toBe('held')
})

test('behind a credit that takes money away it covers nothing until it was asked for again, unless that was done before', () => {
  const wallets = makeLeased()
  wallets.keys.apply(credit(-50n), true)
  expect(covers(wallets)).toBe('uncovered')
  const again = makeLeased()
  again.keys.apply(credit(-50n), false)
  expect(covers(again)).toBe('held')
})

test('rows that are read again leave it where they back it, and not where less is left or money came or went', () => {
  for (const [row, answer] of [
    [rowWith(100n), 'held'],
    [rowWith(60n), 'held'],
    [rowWith(59n), 'uncovered'],
    [rowWith(100n, NOW), 'uncovered'],
  ] as const) {
    const wallets = makeLeased()
    wallets.keys.resync([row])
    expect([row.balancePicos, row.toppedUpAt, covers(wallets)]).toEqual([row.balancePicos, row.toppedUpAt, answer])
  }
})

test('an ask says what is held for the newest hour that was granted, while the ledger’s clock is behind it, and for a later one when the clock is there', () => {
  const [hour, none] = [hourAt(NOW), [ZERO, ZERO, ZERO, ZERO]]
  const sums = { ...{ hour, clockHour: hour, aheadFrom: null, key: none, plan: none, account: none }, keyBudgets: [], accountBudgets: [] }
  const wallets = new Wallets(undefined, 1)
  wallets.keys.load({ ...rowWith(100n), sums: { ...sums, accountBudgets: [{ per: 'day', capPicos: picos(90n) }] } })
  const askAt = (requestId: string, nowMs: number) => {
    const ask = wallets.holdLeased(holdRequest(requestId, 'key_1', picos(60n)), nowMs)
    if (typeof ask !== 'object') throw new Error(`not asked for: ${ask}`)
    return ask
  }
  const first = askAt('first', 0)
  expect(first.windows).toMatchObject({ hour: null, account: { heldPicos: ZERO, earlierPicos: ZERO } })
  const rows = { account: side(60n), key: side(0n), balancePicos: picos(100n), spentPicos: ZERO }
  const windows = { hour: hour + 1, ledgerMs: hour * HOUR_MS }
  wallets.answered(first, { verdict: 'granted', refusedBy: null, ...rows, windows }, 0)
  const held = { heldPicos: picos(60n), earlierPicos: ZERO }
  expect(askAt('behind', 0).windows).toMatchObject({ hour: hour + 1, account: held, key: held, plan: held })
  expect(askAt('there', HOUR_MS).windows).toMatchObject({ hour: hour + 1, account: held })
  expect(askAt('later', 2 * HOUR_MS).windows).toMatchObject({ hour: hour + 2, account: { ...held, earlierPicos: picos(60n) } })
})
