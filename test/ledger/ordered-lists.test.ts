/**
 * Accounts and keys in an order: each once and in its place, also while others are made between the pages; and what is ordered is said where it is not
 * all. Rules: operator.md "Lists".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { withoutCase } from '../../src/core/letter-case.ts'
import {
  type AccountOrder,
  EVERY_ACCOUNT_ORDER,
  EVERY_KEY_ORDER,
  type KeyOrder,
  type Ordered,
} from '../../src/ledger/reading/list-orders.ts'
import { placeIn, placeText } from '../../src/ledger/reading/list-place.ts'
import { OrderedLists } from '../../src/ledger/reading/ordered-lists.ts'
import { createKey, type Machine, NOW, openMachine, operateTask, sha256, usd } from '../support/ledger.ts'

type Row = Readonly<{ id: string }>
type Made = Readonly<{ name: string; cents: number; limit: number | null; ends: number | null; isActive: boolean }>

/** Few different values, so that many rows are equal. */
const MADE: fc.Arbitrary<Made> = fc.record({
  name: fc.constantFrom('alpha', 'Beta', 'gamma', 'ällpha', 'Ällpha', 'x.y', '1'),
  cents: fc.integer({ min: 0, max: 3 }),
  limit: fc.option(fc.integer({ min: 1, max: 3 })),
  ends: fc.option(fc.integer({ min: 1, max: 3 })),
  isActive: fc.boolean(),
})

function add(machine: Machine, index: number, { name, cents, limit, ends, isActive }: Made): void {
  const topUp = { creditId: `crd_${index}`, amountPicos: usd(`${cents}.00`), ref: '' }
  const accountId = `acc_${index}`
  machine.ask(
    operateTask({ kind: 'createAccount', accountId, name: `${name} ${index}`, topUp: cents === 0 ? null : topUp, now: NOW + index }),
  )
  const more = { accountId, name, limitPicos: limit === null ? null : usd(String(limit)), expiresAt: ends === null ? null : NOW + ends }
  const key = createKey(`key_${index}`, { ...more, secretHash: sha256(`key_${index}`), display: `sk-…e${String(index).padStart(3, '0')}` })
  machine.ask(operateTask(key))
  if (!isActive) machine.ask(operateTask({ kind: 'setKeyActive', keyId: `key_${index}`, isActive, now: NOW }))
}

/** All rows of all pages; `between`: what happens after each. */
function walk<Found extends Row>(
  page: (after: { after?: string }) => Ordered<Found> | undefined,
  between = (): void => undefined,
): Found[] {
  const rows: Found[] = []
  for (let after = {}; ; ) {
    const found = page(after)
    if (found === undefined) throw new Error('no such page')
    rows.push(...found.rows)
    if (found.next === null) return rows
    after = { after: found.next }
    between()
  }
}

test('every order holds every row once and in its place, while others are made between the pages', () => {
  // One ledger that grows with each draw: to make one anew takes longer than all questions to it.
  const machine = openMachine()
  const lists = new OrderedLists(machine.db)
  let made = 0
  const make = (one: Made) => add(machine, made++, one)
  fc.assert(
    fc.property(
      fc.array(MADE, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...EVERY_KEY_ORDER),
      fc.constantFrom(...EVERY_ACCOUNT_ORDER),
      fc.integer({ min: 3, max: 20 }),
      (some, keyOrder, accountOrder, limit) => {
        for (const one of some) make(one)
        const every = Array.from({ length: made }, (_, index) => index)
        const keys = lists.keys({ order: keyOrder, limit: 1_000 })?.rows ?? []
        const accounts = lists.accounts({ order: accountOrder, limit: 1_000 })?.rows ?? []
        expect(keys.map(({ id }) => numbered(id)).toSorted((a, b) => a - b)).toEqual(every)
        expect(accounts.map(({ id }) => numbered(id)).toSorted((a, b) => a - b)).toEqual(every)
        inPlace(
          keys.map((key) => valueOfKey(keyOrder, key)),
          keyOrder,
        )
        inPlace(
          accounts.map((account) => valueOfAccount(accountOrder, account)),
          accountOrder,
        )
        let pages = 0
        const between = () => {
          if (pages++ < 2 && some[0] !== undefined) make(some[0])
        }
        expect(ids(walk((after) => lists.keys({ order: keyOrder, limit, ...after }), between))).toEqual(ids(keys))
        const before = lists.accounts({ order: accountOrder, limit: 1_000 })?.rows ?? []
        expect(ids(walk((after) => lists.accounts({ order: accountOrder, limit, ...after }), between))).toEqual(ids(before))
      },
    ),
    { numRuns: 30 },
  )
  machine.close()
}, 60_000)

const ids = (rows: readonly Row[]): readonly string[] => rows.map(({ id }) => id)

type Key = NonNullable<ReturnType<OrderedLists['keys']>>['rows'][number]
type Account = NonNullable<ReturnType<OrderedLists['accounts']>>['rows'][number]

const numbered = (id: string): number => Number(id.slice(4))
function valueOfKey(order: KeyOrder, key: Key): bigint | number | string {
  switch (order.replace('-', '')) {
    case 'name':
      return withoutCase(key.name)
    case 'account':
      return withoutCase(key.accountName)
    case 'spent':
      return key.spentPicos
    case 'limit':
      return key.limitPicos ?? Number.POSITIVE_INFINITY
    case 'expires':
      return key.expiresAt ?? Number.POSITIVE_INFINITY
    case 'last_used':
      return key.lastUsedAt ?? 0
    default:
      return numbered(key.id)
  }
}
function valueOfAccount(order: AccountOrder, account: Account): bigint | number | string {
  switch (order.replace('-', '')) {
    case 'name':
      return withoutCase(account.name)
    case 'balance':
      return account.balancePicos
    case 'credited':
      return account.creditedPicos
    case 'spent':
      return account.spentPicos
    case 'topped_up':
      return account.toppedUpAt ?? 0
    default:
      return numbered(account.id)
  }
}

function inPlace(values: readonly (bigint | number | string)[], order: string): void {
  const rising = order.startsWith('-') ? values.toReversed() : values
  for (const [index, value] of rising.slice(1).entries()) {
    const before = rising[index] ?? 0
    const isBehind =
      typeof value === 'string' ? Buffer.from(value).compare(Buffer.from(String(before))) >= 0 : value >= (before as bigint | number)
    expect([order, before, value, isBehind]).toEqual([order, before, value, true])
  }
}

test('disabled keys are left out and counted; a search orders what it finds, the end of a secret too', () => {
  const machine = openMachine()
  const make = (name: string, isActive: boolean): Made => ({ name, cents: 1, limit: null, ends: null, isActive })
  for (const [index, one] of [make('prod', true), make('e001', false), make('prod two', false), make('other', true)].entries())
    add(machine, index, one)
  const lists = new OrderedLists(machine.db)
  const active = lists.keys({ order: '-created', onlyActive: true, limit: 9 })
  expect([active?.rows.map(({ id }) => id), active?.left, active?.among, active?.isAll]).toEqual([['key_3', 'key_0'], 2, 4, true])
  expect(lists.keys({ order: 'name', search: 'PROD', limit: 9 })?.rows.map(({ id }) => id)).toEqual(['key_0', 'key_2'])
  expect(lists.keys({ order: 'name', search: 'e001', limit: 9 })?.rows.map(({ id }) => id)).toEqual(['key_1'])
  expect(lists.keys({ order: 'name', search: 'e003', limit: 9 })?.rows.map(({ id }) => id)).toEqual(['key_3'])
  expect(lists.keys({ order: 'name', accountId: 'acc_2', search: 'e003', limit: 9 })?.rows).toEqual([])
  machine.ask(operateTask({ kind: 'setAccountActive', accountId: 'acc_3', isActive: false, now: NOW }))
  expect(lists.keys({ order: 'name', onlyActive: true, limit: 9 })?.rows.map(({ id }) => id)).toEqual(['key_0'])
  machine.close()
})

test('of more than 10,000 accounts the newest are ordered, and the answer says so; by age the list goes on behind them', () => {
  const machine = openMachine()
  machine.db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
    INSERT INTO accounts (id, name, credited_picos, balance_picos, created_at) SELECT 'acc_' || i, '', 20000 - i, 20000 - i, ${NOW} FROM n`)
  const lists = new OrderedLists(machine.db)
  const dearest = lists.accounts({ order: '-balance', limit: 2 })
  expect([dearest?.rows.map(({ id }) => id), dearest?.among, dearest?.isAll]).toEqual([['acc_51', 'acc_52'], 10_000, false])
  expect(walk((after) => lists.accounts({ order: 'balance', limit: 3_000, ...after })).length).toBe(10_000)
  const all = walk((after) => lists.accounts({ order: '-created', limit: 3_000, ...after })).map(({ id }) => id)
  expect([all.length, new Set(all).size, all.at(-1)]).toEqual([10_050, 10_050, 'acc_1'])
  // What a name finds is cut off by name, so nothing older is behind it: no row comes twice.
  machine.db.run("UPDATE accounts SET name = CASE WHEN number % 2 = 0 THEN 'a' ELSE 'ab' END || number")
  const named = walk((after) => lists.accounts({ order: '-created', search: 'a', limit: 3_000, ...after })).map(({ id }) => id)
  expect([named.length, new Set(named).size]).toEqual([10_000, 10_000])
  machine.close()
})

test('a place that no list gave is none, and is never read as SQL', () => {
  const machine = openMachine()
  for (const index of [0, 1, 2]) add(machine, index, { name: 'a', cents: 1, limit: null, ends: null, isActive: true })
  const lists = new OrderedLists(machine.db)
  for (const after of [
    '',
    'x',
    'key_0',
    placeText({ top: 'key_none' }),
    placeText({ top: 'key_2', id: 'key_none', value: '1' }),
    placeText({ top: 'key_2', id: 'key_1', value: "1' OR 1" }),
    placeText({ top: 'key_2', id: 'key_1', value: String(2n ** 63n) }),
    placeText({ top: 'key_2', id: 'key_1', value: '1\0' }),
  ])
    expect([after, lists.keys({ order: '-spent', limit: 1, after })]).toEqual([after, undefined])
  // Another account's key is as unknown as one that there is not, and no place that an account is given names one.
  const ofAccount = { order: '-spent', accountId: 'acc_1', limit: 1 } as const
  for (const [top, id] of [
    ['key_2', 'key_1'],
    ['key_1', 'key_0'],
    ['key_1', 'key_2'],
  ] as const)
    expect([top, id, lists.keys({ ...ofAccount, after: placeText({ top, id, value: '1' }) })]).toEqual([top, id, undefined])
  expect(lists.keys({ ...ofAccount, after: placeText({ top: 'key_2' }) })).toBeUndefined()
  expect(lists.keys({ ...ofAccount, after: placeText({ top: 'key_1' }) })?.rows.map(({ id }) => id)).toEqual(['key_1'])
  fc.assert(fc.property(fc.string(), (text) => expect(() => placeIn(text)).not.toThrow()))
  // Postgres takes no NUL in a text.
  expect(lists.keys({ order: 'name', limit: 1, after: placeText({ top: 'key_2', id: 'key_1', value: 'a\0' }) })).toBeUndefined()
  fc.assert(
    fc.property(fc.string(), fc.string({ unit: 'binary' }), (top, text) => {
      const value = text.replaceAll('\0', '')
      expect(placeIn(placeText({ top, id: 'i', value }))).toEqual({ top, id: 'i', value })
    }),
  )
  machine.close()
})
