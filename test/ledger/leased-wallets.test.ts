/** What a node's lease covers once the balance behind it was made less by another way than a settle, and what a node says that it holds by the hour. Rules: ledger.md "Leases"; money.md "Budgets". */

import { expect, test } from 'bun:test'
import { picos, ZERO } from '../../src/core/money.ts'
import { HOUR_MS, hourAt, type Per } from '../../src/core/windows.ts'
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
  const { wallets, ask: askAt, hour } = makeBudgeted(100n, 'day')
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

/** A node that has a budget of 90 on its account; `ask`: asks for a request of 60, at a moment of its monotonic time. */
function makeBudgeted(balance: bigint, per: Per) {
  const [hour, none] = [hourAt(NOW), [ZERO, ZERO, ZERO, ZERO]]
  const sums = { ...{ hour, clockHour: hour, aheadFrom: null, key: none, plan: none, account: none }, keyBudgets: [], accountBudgets: [] }
  const wallets = new Wallets(undefined, 1)
  wallets.keys.load({ ...rowWith(balance), sums: { ...sums, accountBudgets: [{ per, capPicos: picos(90n) }] } })
  const ask = (requestId: string, nowMs: number) => {
    const asked = wallets.holdLeased(holdRequest(requestId, 'key_1', picos(60n)), nowMs)
    if (typeof asked !== 'object') throw new Error(`not asked for: ${asked}`)
    return asked
  }
  const answer = (backed: bigint, later: number, verdict: 'granted' | 'wanted' = 'granted') => ({
    ...{ verdict, refusedBy: verdict === 'granted' ? null : ('key' as const), account: side(backed), key: side(0n) },
    ...{ balancePicos: picos(1_000n), spentPicos: ZERO, windows: { hour: hour + later, ledgerMs: (hour + later) * HOUR_MS } },
  })
  const covers = (amount: bigint, nowMs: number): unknown =>
    wallets.holdCovered(holdRequest(`covered ${amount}`, 'key_1', picos(amount)), nowMs)
  return { wallets, ask, answer, covers, hour }
}

test('what a request of an earlier hour leaves when it ends is not of the windows of the present one, whether it ends before or behind the answer', () => {
  for (const endsBehind of [false, true]) {
    const { wallets, ask, answer, covers } = makeBudgeted(1_000n, 'hour')
    wallets.answered(ask('earlier', 0), answer(60n, 0), 0)
    const asked = ask('present', HOUR_MS)
    expect(asked.windows?.account).toEqual({ heldPicos: picos(60n), earlierPicos: picos(60n) })
    if (!endsBehind) wallets.void('earlier')
    wallets.answered(asked, answer(150n, 1), HOUR_MS)
    if (endsBehind) wallets.void('earlier')
    // Of the 90 of this window 60 are held, and the 60 that came free are of the window before.
    expect(covers(31n, HOUR_MS)).toBe('uncovered')
    expect(covers(30n, HOUR_MS)).toBe('held')
    expect(covers(0n, HOUR_MS)).toBe('uncovered')
  }
})

test('an ask that is refused opens no window of a later hour to what was leased before', () => {
  const { wallets, ask, answer, covers } = makeBudgeted(1_000n, 'hour')
  wallets.answered(ask('earlier', 0), answer(90n, 0), 0)
  wallets.void('earlier')
  wallets.answered(ask('refused', HOUR_MS), answer(90n, 1, 'wanted'), HOUR_MS)
  expect(covers(10n, HOUR_MS)).toBe('uncovered')
  wallets.answered(ask('granted', HOUR_MS), answer(90n, 1), HOUR_MS)
  expect(covers(10n, HOUR_MS)).toBe('held')
})
