/**
 * Admission in memory is admission by the statements that it took the place of: the same answers and the same amounts, whatever is held, settled, released, topped
 * up, limited, disabled, evicted and read again. The oracle is those statements, on a database of its own. `FC_RUNS` sets how many histories are tried.
 */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { KeyState } from '../../src/ledger/key-state.ts'
import type { HoldAnswer } from '../../src/ledger/ledger.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import { createKey, holdRequest, NOW, settlement } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const KEYS = ['key_1', 'key_2', 'key_3', 'key_alone'] as const
const accountOf = (keyId: string): string => (keyId === 'key_alone' ? 'acc_alone' : 'acc_shared')

/** The statements of the time when every hold was a row, in one table each for what they touched. */
class Oracle {
  readonly #db = new Database(':memory:', { safeIntegers: true, strict: true })

  constructor() {
    this.#db.run('CREATE TABLE accounts (id TEXT PRIMARY KEY, balance INTEGER, held INTEGER DEFAULT 0, is_active INTEGER DEFAULT 1) STRICT')
    this.#db.run(`CREATE TABLE keys (id TEXT PRIMARY KEY, account_id TEXT, "limit" INTEGER, spent INTEGER DEFAULT 0, held INTEGER DEFAULT 0,
      is_active INTEGER DEFAULT 1, expires_at INTEGER) STRICT`)
    this.#db.run('CREATE TABLE holds (request_id TEXT PRIMARY KEY, key_id TEXT, amount INTEGER) STRICT')
    for (const keyId of KEYS) {
      this.#db.query('INSERT OR IGNORE INTO accounts (id, balance) VALUES (?, 100)').run(accountOf(keyId))
      this.#db.query('INSERT INTO keys (id, account_id) VALUES (?, ?)').run(keyId, accountOf(keyId))
    }
  }

  hold(requestId: string, keyId: string, amount: bigint, now: number): HoldAnswer {
    this.#db.run('SAVEPOINT hold')
    const account = this.#db
      .query<{ account_id: string }, [bigint, string, number]>(
        `UPDATE keys SET held = held + ? WHERE id = ? AND is_active = 1 AND (expires_at IS NULL OR expires_at > ?)
           AND ("limit" IS NULL OR "limit" - spent - held > 0) RETURNING account_id`,
      )
      .get(amount, keyId, now)?.account_id
    const granted =
      account !== undefined &&
      this.#db
        .query<unknown, [bigint, string]>(
          'UPDATE accounts SET held = held + ? WHERE id = ? AND is_active = 1 AND balance - held > 0 RETURNING id',
        )
        .get(amount, account) !== null
    if (!granted) this.#db.run('ROLLBACK TO hold')
    this.#db.run('RELEASE hold')
    if (!granted) return this.#reason(keyId, now)
    this.#db.query('INSERT INTO holds VALUES (?, ?, ?)').run(requestId, keyId, amount)
    return 'held'
  }

  #reason(keyId: string, now: number): HoldAnswer {
    const key = this.#row(keyId)
    if (key.is_active === 0n || key.account_active === 0n) return 'disabled'
    if (key.expires_at !== null && key.expires_at <= now) return 'expired'
    return key.balance <= 0n || (key.limit !== null && key.spent >= key.limit) ? 'exhausted' : 'reserved'
  }

  end(requestId: string, cost: bigint): boolean {
    const hold = this.#db
      .query<{ key_id: string; amount: bigint }, [string]>('DELETE FROM holds WHERE request_id = ? RETURNING key_id, amount')
      .get(requestId)
    if (hold === null) return false
    this.#db.query('UPDATE accounts SET held = held - ?, balance = balance - ? WHERE id = ?').run(hold.amount, cost, accountOf(hold.key_id))
    this.#db.query('UPDATE keys SET held = held - ?, spent = spent + ? WHERE id = ?').run(hold.amount, cost, hold.key_id)
    return true
  }

  operate(operation: Operation): void {
    switch (operation.kind) {
      case 'credit':
        this.#set('UPDATE accounts SET balance = balance + ? WHERE id = ?', operation.amountPicos, operation.accountId)
        return
      case 'setAccountActive':
        this.#set('UPDATE accounts SET is_active = ? WHERE id = ?', operation.isActive ? 1n : 0n, operation.accountId)
        return
      case 'setKeyActive':
        this.#set('UPDATE keys SET is_active = ? WHERE id = ?', operation.isActive ? 1n : 0n, operation.keyId)
        return
      case 'setKeyLimit':
        this.#set('UPDATE keys SET "limit" = ? WHERE id = ?', operation.limitPicos, operation.keyId)
        return
      case 'setKeyExpiry':
        this.#set(
          'UPDATE keys SET expires_at = ? WHERE id = ?',
          operation.expiresAt === null ? null : BigInt(operation.expiresAt),
          operation.keyId,
        )
        return
      default:
        throw new Error(operation.kind)
    }
  }

  #set(statement: string, value: bigint | null, id: string): void {
    this.#db.query(statement).run(value, id)
  }

  /** The row as it is on disk; what is settled and not yet there is given by the caller. */
  state(keyId: string, unsettledOfKey: bigint, unsettledOfAccount: bigint): KeyState {
    const key = this.#row(keyId)
    return {
      keyId,
      keyNumber: 1,
      accountId: accountOf(keyId),
      accountNumber: 1,
      isActive: key.is_active === 1n,
      isAccountActive: key.account_active === 1n,
      plan: 'default',
      expiresAt: key.expires_at === null ? null : Number(key.expires_at),
      limitPicos: key.limit === null ? null : picos(key.limit),
      spentPicos: picos(key.spent - unsettledOfKey),
      balancePicos: picos(key.balance + unsettledOfAccount),
      lastSyncedAt: 0,
      toppedUpAt: null,
    }
  }

  heldOf(keyId: string): bigint {
    return this.#row(keyId).held
  }

  #row(keyId: string) {
    const query = `SELECT k.*, a.balance, a.is_active AS account_active FROM keys k JOIN accounts a ON a.id = k.account_id WHERE k.id = ?`
    type Row = Record<'is_active' | 'account_active' | 'spent' | 'held' | 'balance', bigint> & Record<'limit' | 'expires_at', bigint | null>
    const row = this.#db.query<Row, [string]>(query).get(keyId)
    if (row === null) throw new Error(keyId)
    return row
  }
}

type Step =
  | Readonly<{ kind: 'hold'; id: string; keyId: string; amount: bigint; later: number }>
  | Readonly<{ kind: 'settle'; id: string; cost: bigint; ends: 'kept' | 'lost' | 'waits' }>
  | Readonly<{ kind: 'void'; id: string }>
  | Readonly<{ kind: 'acknowledge' }>
  | Readonly<{ kind: 'operate'; operation: Operation }>
  | Readonly<{ kind: 'load'; keyId: string }>
  | Readonly<{ kind: 'resync' }>

const key = fc.constantFrom(...KEYS)
const id = fc.nat(9).map((n) => `req_${n}`)
const isActive = fc.integer({ min: 0, max: 4 }).map((n) => n > 0)
const now = NOW
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(key, fc.bigInt(-60n, 120n)).map(
    ([keyId, amount]): Operation => ({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 't',
      accountId: accountOf(keyId),
      amountPicos: picos(amount),
      ref: '',
      now,
    }),
  ),
  fc.tuple(key, fc.option(fc.bigInt(0n, 150n))).map(
    ([keyId, limit]): Operation => ({
      kind: 'setKeyLimit',
      keyId,
      limitPicos: limit === null ? null : picos(limit),
      now,
    }),
  ),
  fc.tuple(key, isActive).map(([keyId, active]): Operation => ({ kind: 'setKeyActive', keyId, isActive: active, now })),
  fc
    .tuple(key, isActive)
    .map(([keyId, active]): Operation => ({ kind: 'setAccountActive', accountId: accountOf(keyId), isActive: active, now })),
  fc.tuple(key, fc.option(fc.integer({ min: 5, max: 40 }))).map(
    ([keyId, after]): Operation => ({
      kind: 'setKeyExpiry',
      keyId,
      expiresAt: after === null ? null : NOW + after,
      now,
    }),
  ),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('hold'),
      id,
      keyId: key,
      amount: fc.bigInt(0n, 70n),
      later: fc.nat(10),
    }) as fc.Arbitrary<Step>,
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('settle'),
      id,
      cost: fc.bigInt(0n, 60n),
      ends: fc.constantFrom('kept', 'lost', 'waits'),
    }) as fc.Arbitrary<Step>,
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void'), id }) as fc.Arbitrary<Step> },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'acknowledge' }) },
  { weight: 3, arbitrary: operation.map((given): Step => ({ kind: 'operate', operation: given })) },
  { weight: 1, arbitrary: key.map((keyId): Step => ({ kind: 'load', keyId })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'resync' }) },
)

test('every answer and every amount is that of the statements, with room for all wallets and with room for one', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(1, 2, 100), (steps, room) => {
      const oracle = new Oracle()
      const wallets = new Wallets(room)
      /** Settles that are sent and not acknowledged: not on disk yet. */
      const unsettled = new Map<string, { keyId: string; cost: bigint }>()
      const keyIdOf = new Map<string, string>()
      const rowOf = (keyId: string): KeyState => {
        const all = [...unsettled.values()]
        const sum = (some: typeof all): bigint => some.reduce((total, { cost }) => total + cost, 0n)
        const ofAccount = all.filter((one) => accountOf(one.keyId) === accountOf(keyId))
        return oracle.state(keyId, sum(all.filter((one) => one.keyId === keyId)), sum(ofAccount))
      }
      let later = 0
      const hold = (requestId: string, keyId: string, amount: bigint): HoldAnswer => {
        const request = holdRequest(requestId, keyId, picos(amount), { now: NOW + later })
        const answer = wallets.hold(request, 0)
        if (answer !== 'unknown') return answer
        wallets.keys.load(rowOf(keyId))
        const again = wallets.hold(request, 0)
        if (again === 'unknown') throw new Error('it was just loaded')
        return again
      }
      for (const next of steps) {
        switch (next.kind) {
          case 'hold':
            if (keyIdOf.has(next.id)) break
            later += next.later
            {
              const answer = hold(next.id, next.keyId, next.amount)
              expect(answer).toBe(oracle.hold(next.id, next.keyId, next.amount, NOW + later))
              if (answer === 'held') keyIdOf.set(next.id, next.keyId)
            }
            break
          case 'settle': {
            const keyId = keyIdOf.get(next.id) ?? ''
            const debit = wallets.settle(settlement(next.id, {}, { costPicos: picos(next.cost) }))
            expect(debit !== undefined).toBe(keyId !== '' && !unsettled.has(next.id))
            if (debit === undefined) break
            expect(debit.holdPicos >= 0n).toBe(true)
            oracle.end(next.id, next.ends === 'lost' ? 0n : next.cost)
            if (next.ends === 'lost') wallets.putBack(next.id)
            else if (next.ends === 'kept') wallets.settled(next.id)
            else unsettled.set(next.id, { keyId, cost: next.cost })
            if (next.ends !== 'waits') keyIdOf.delete(next.id)
            break
          }
          case 'void':
            expect(wallets.void(next.id) !== undefined).toBe(keyIdOf.has(next.id) && !unsettled.has(next.id))
            if (!unsettled.has(next.id) && oracle.end(next.id, 0n)) keyIdOf.delete(next.id)
            break
          case 'acknowledge':
            for (const requestId of unsettled.keys()) {
              wallets.settled(requestId)
              keyIdOf.delete(requestId)
            }
            unsettled.clear()
            break
          case 'operate':
            oracle.operate(next.operation)
            wallets.keys.apply(next.operation, true)
            break
          case 'load':
            wallets.keys.load(rowOf(next.keyId))
            break
          case 'resync':
            wallets.keys.resync(KEYS.map(rowOf))
        }
        for (const keyId of KEYS) {
          const held = wallets.holds().filter((one) => one.keyId === keyId && !unsettled.has(one.requestId))
          expect(held.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)).toBe(oracle.heldOf(keyId))
        }
      }
    }),
    { numRuns: runs(400) },
  )
}, 180_000)

test('what holds, or waits for its acknowledgement, is never forgotten; what rests is, when room is needed', () => {
  const wallets = new Wallets(3)
  const rowOf = (n: number, balance: bigint): KeyState => ({
    keyId: `key_${n}`,
    keyNumber: n,
    accountId: `acc_${n}`,
    accountNumber: n,
    isActive: true,
    isAccountActive: true,
    plan: 'default',
    expiresAt: null,
    limitPicos: null,
    spentPicos: picos(0n),
    balancePicos: picos(balance),
    lastSyncedAt: 0,
    toppedUpAt: null,
  })
  for (let n = 1; n <= 3; n++) wallets.keys.load(rowOf(n, 10n))
  wallets.hold(holdRequest('held', 'key_1', picos(10n)), 0)
  wallets.hold(holdRequest('settling', 'key_2', picos(10n)), 0)
  wallets.settle(settlement('settling', {}, { costPicos: picos(10n) }))
  for (let n = 4; n <= 40; n++) wallets.keys.load(rowOf(n, 10n))
  expect(wallets.keys.ids()).toHaveLength(3)
  // A row as it was before: it replaces nothing.
  for (const n of [1, 2, 3]) wallets.keys.load(rowOf(n, 10n))
  expect(wallets.hold(holdRequest('a', 'key_1', picos(1n)), 0)).toBe('reserved')
  expect(wallets.hold(holdRequest('b', 'key_2', picos(1n)), 0)).toBe('exhausted')
  expect(wallets.hold(holdRequest('c', 'key_3', picos(1n)), 0)).toBe('held')
  wallets.void('held')
  wallets.settled('settling')
  wallets.void('c')
  for (let n = 50; n <= 60; n++) wallets.keys.load(rowOf(n, 10n))
  expect(wallets.keys.ids()).toEqual(['key_58', 'key_59', 'key_60'])
})

test('a row that is read again corrects the account, also where its key had to leave the memory meanwhile', () => {
  const wallets = new Wallets(1)
  const rowOf = (n: number, balancePicos: bigint): KeyState => ({
    keyId: `key_${n}`,
    keyNumber: n,
    accountId: 'acc_1',
    accountNumber: 1,
    isActive: true,
    isAccountActive: true,
    plan: 'default',
    expiresAt: null,
    limitPicos: null,
    spentPicos: picos(0n),
    balancePicos: picos(balancePicos),
    lastSyncedAt: NOW,
    toppedUpAt: NOW,
  })
  wallets.keys.load(rowOf(1, 100n))
  expect(wallets.hold(holdRequest('req_1', 'key_1', picos(5n)), 0)).toBe('held')
  expect(wallets.settle(settlement('req_1', {}, { costPicos: picos(3n) }))).toBeDefined()
  wallets.keys.load(rowOf(2, 97n))
  // Committed by a thread that died before it said so, and read by the next one: it counts twice until that is known.
  wallets.keys.resync([rowOf(2, 97n)])
  wallets.settled('req_1')
  wallets.keys.load(rowOf(3, 97n))
  expect(wallets.keys.has('key_1')).toBe(false)
  wallets.keys.resync([rowOf(1, 97n)])
  expect(wallets.keys.keyBalanceOf('key_3')?.account.balancePicos).toBe(picos(97n))
})

test('what could not be written is put back: to the balance, and to what a limit leaves', () => {
  for (const limitPicos of [null, picos(100n)]) {
    const wallets = new Wallets()
    wallets.keys.load({ ...new Oracle().state('key_alone', 0n, 0n), limitPicos })
    wallets.hold(holdRequest('a', 'key_alone', picos(100n)), 0)
    wallets.settle(settlement('a', {}, { costPicos: picos(100n) }))
    expect(wallets.hold(holdRequest('b', 'key_alone', picos(1n)), 0)).toBe('exhausted')
    wallets.putBack('a')
    expect(wallets.hold(holdRequest('c', 'key_alone', picos(99n)), 0)).toBe('held')
    expect(wallets.hold(holdRequest('d', 'key_alone', picos(99n)), 0)).toBe('held')
    expect(wallets.hold(holdRequest('e', 'key_alone', picos(1n)), 0)).toBe('reserved')
  }
})

test('the id of a request that is being settled holds nothing again until that is known, and a request that runs is held once', () => {
  const wallets = new Wallets()
  wallets.keys.load(new Oracle().state('key_alone', 0n, 0n))
  const hold = (): HoldAnswer | 'unknown' => wallets.hold(holdRequest('a', 'key_alone', picos(30n)), 0)
  const held = (): bigint | undefined => wallets.keys.keyBalanceOf('key_alone')?.account.heldPicos
  expect([hold(), hold(), held()]).toEqual(['held', 'held', 30n])
  wallets.settle(settlement('a', {}, { costPicos: picos(10n) }))
  expect([hold(), held()]).toEqual(['unavailable', 0n])
  expect(wallets.holds()).toHaveLength(1)
  wallets.settled('a')
  expect([hold(), held(), wallets.holds().length]).toEqual(['held', 30n, 1])
})

test('a request leaves a checkpoint when it is old enough, with how far it had come, and not before', () => {
  const wallets = new Wallets()
  wallets.keys.load(new Oracle().state('key_alone', 0n, 0n))
  wallets.hold(holdRequest('old', 'key_alone', picos(1n)), 0)
  wallets.hold(holdRequest('young', 'key_alone', picos(1n)), 100)
  const progress = { usage: { ...NO_USAGE, input: 7 }, usageSource: 'partial' } as const
  expect(wallets.checkpoint('young', progress)).toBeUndefined()
  expect(wallets.due(99)).toMatchObject([{ requestId: 'old', usageSource: 'none' }])
  expect(wallets.due(99)).toEqual([])
  expect(wallets.checkpoint('old', progress)).toMatchObject({ requestId: 'old', ...progress })
  expect(wallets.due(100)).toMatchObject([{ requestId: 'young', ...progress }])
  expect(wallets.checkpoints().map(({ requestId }) => requestId)).toEqual(['old', 'young'])
  expect(wallets.void('old')).toMatchObject({ hasCheckpoint: true })
  expect(wallets.settle(settlement('young'))).toMatchObject({ hasCheckpoint: true })
  expect(wallets.checkpoint('young', progress)).toBeUndefined()
})

test('an operator’s write that was done before adds nothing', () => {
  const wallets = new Wallets()
  const oracle = new Oracle()
  wallets.keys.load(oracle.state('key_alone', 0n, 0n))
  wallets.keys.apply(
    { kind: 'credit', creditKind: 'top-up', creditId: 't', accountId: 'acc_alone', amountPicos: picos(7n), ref: '', now: NOW },
    false,
  )
  const topUp = createKey('key_new', { accountId: 'acc_alone', topUp: { creditId: 't', amountPicos: picos(50n), ref: '' } })
  wallets.keys.apply(topUp, false)
  wallets.hold(holdRequest('a', 'key_alone', picos(100n)), 0)
  expect(wallets.hold(holdRequest('b', 'key_alone', picos(1n)), 0)).toBe('reserved')
  wallets.keys.apply(topUp, true)
  expect(wallets.hold(holdRequest('b', 'key_alone', picos(1n)), 0)).toBe('held')
})
