/**
 * Protects money.md "Budgets" for the only writer: what is admitted is what an oracle over all requests says, for random histories of admissions, ends, kills, changes of budgets and clocks
 * that step over the edges of windows, back, too; and every sum in the ledger agrees.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import type { WindowUsed } from '../../src/core/spending.ts'
import { type Budgets, HOUR_MS, hourAt, PERS, type Per, windowAt } from '../../src/core/windows.ts'
import type { HoldAnswer } from '../../src/ledger/ledger.ts'
import { answerText, createKey, holdRequest, type Machine, makePath, NOW, openMachine, operateTask, settlement } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const RATE = 15_000_000n
const KEYS = ['key_0', 'key_1', 'key_2'] as const
/** The first two keys are of one account; the second has a plan of its own. */
const ACCOUNT_OF = { key_0: 'acc_0', key_1: 'acc_0', key_2: 'acc_2' } as const
const PLAN_OF = { key_0: 'default', key_1: 'small', key_2: 'small' } as const
type Key = (typeof KEYS)[number]
type Request = { id: string; key: Key; hour: number; held: bigint; cost: bigint; state: 'runs' | 'over' }
type Step =
  | Readonly<{ do: 'hold'; key: Key; tokens: number }>
  | Readonly<{ do: 'settle' | 'void'; which: number; tokens: number }>
  | Readonly<{ do: 'budget'; of: 'key' | 'account'; key: Key; per: Per; tokens: number | null; by: 'operator' | 'customer' }>
  | Readonly<{ do: 'plan'; per: Per; tokens: number | null }>
  | Readonly<{ do: 'clock'; hours: number }>
  | Readonly<{ do: 'kill' }>

const key = fc.constantFrom(...KEYS)
const per = fc.constantFrom(...PERS)
const tokens = fc.integer({ min: 1, max: 9 })
const cap = fc.option(fc.integer({ min: 1, max: 30 }), { freq: 4 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('hold' as const), key, tokens }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(20), tokens }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const), which: fc.nat(20), tokens }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('budget' as const),
      of: fc.constantFrom('key' as const, 'account' as const),
      key,
      per,
      tokens: cap,
      by: fc.constantFrom('operator' as const, 'customer' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('plan' as const), per, tokens: cap }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('clock' as const), hours: fc.constantFrom(-200, -30, -20, -1, 0.4, 1, 1, 1, 20, 24 * 7) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
)

/** Knows every request, and adds up what a window has. */
class Oracle {
  readonly requests: Request[] = []
  readonly budgets = new Map<string, bigint>()
  readonly plan = new Map<Per, bigint>()
  /** What a hold must be answered if these are the windows of that hour. */
  expected(of: Key, hour: number): string {
    const windows = this.#budgetsOf(of).map(({ per: length, cap: most, covers }) => {
      const { start, end } = windowAt(length, hour)
      const inWindow = this.requests.filter((request) => covers(request) && request.hour >= start && request.hour < end)
      const spent = inWindow.reduce((sum, { state, cost }) => sum + (state === 'over' ? cost : 0n), 0n)
      const held = inWindow.reduce((sum, { state, held: amount }) => sum + (state === 'runs' ? amount : 0n), 0n)
      return { per: length, end, left: most - spent, free: most - spent - held }
    })
    const used = windows.filter(({ left }) => left <= 0n).sort((a, b) => b.end - a.end)[0]
    if (used !== undefined) return `until ${used.end * HOUR_MS}`
    return windows.some(({ free }) => free <= 0n) ? 'reserved' : 'held'
  }

  /** The newest hour of the account's rows for which a clock is waited. */
  newestOf(of: Key, clock: number): number {
    const rows = this.requests.filter(({ key, cost, hour }) => ACCOUNT_OF[key] === ACCOUNT_OF[of] && cost > 0n && hour <= clock + 25)
    return Math.max(clock, ...rows.map(({ hour }) => hour))
  }

  #budgetsOf(of: Key): { per: Per; cap: bigint; covers: (request: Request) => boolean }[] {
    const own = (name: string, length: Per): bigint | undefined => {
      const both = [this.budgets.get(`${name} ${length} operator`), this.budgets.get(`${name} ${length} customer`)].filter(
        (one) => one !== undefined,
      )
      return both.length === 0 ? undefined : both.toSorted((a, b) => Number(a - b))[0]
    }
    const list: { per: Per; cap: bigint | undefined; covers: (request: Request) => boolean }[] = PERS.flatMap((length) => [
      { per: length, cap: own(of, length), covers: (request: Request) => request.key === of },
      { per: length, cap: own(ACCOUNT_OF[of], length), covers: (request: Request) => ACCOUNT_OF[request.key] === ACCOUNT_OF[of] },
      {
        per: length,
        cap: PLAN_OF[of] === 'small' ? this.plan.get(length) : undefined,
        covers: (request: Request) => ACCOUNT_OF[request.key] === ACCOUNT_OF[of] && PLAN_OF[request.key] === 'small',
      },
    ])
    return list.flatMap((one) => (one.cap === undefined ? [] : [{ ...one, cap: one.cap }]))
  }
}

const shown = (answer: HoldAnswer): string => (typeof answer === 'object' ? `until ${(answer as WindowUsed).resetsAt}` : answerText(answer))

class History {
  readonly #path = makePath()
  readonly #oracle = new Oracle()
  #now = NOW
  #boots = 0
  /** The newest hour of the process, and the keys that it has read since its start, or since its clock was found to have been wrong. */
  #hour = 0
  readonly #read = new Set<Key>()
  #machine: Machine

  constructor() {
    this.#machine = this.#open()
    for (const of of KEYS)
      this.#machine.ask(
        operateTask(createKey(of, { plan: PLAN_OF[of], ...(of === 'key_1' ? { accountId: 'acc_0' } : { balanceUsd: '1000' }) })),
      )
  }

  #open(): Machine {
    const budgetsOf = (plan: string): Budgets =>
      plan !== 'small'
        ? []
        : PERS.flatMap((length) => {
            const most = this.#oracle.plan.get(length)
            return most === undefined ? [] : [{ per: length, capPicos: picos(most) }]
          })
    return openMachine(this.#path, `boot-${++this.#boots}`, false, budgetsOf)
  }

  /** The hour for which the process has decided: the clock's, or a later one for which it is waited, which is none that the process, or a key that it reads, has left behind. */
  #hourOf(of: Key): number {
    const clock = hourAt(this.#now)
    const hour = this.#machine.wallets.hourAt(this.#now, 0)
    const isGoingOn = this.#hour - clock <= 25
    if (!isGoingOn) this.#read.clear()
    const least = Math.max(isGoingOn ? this.#hour : 0, this.#read.has(of) ? clock : this.#oracle.newestOf(of, clock))
    expect([hour - clock, hour >= least, hour <= clock + 25]).toEqual([hour - clock, true, true])
    this.#read.add(of)
    this.#hour = hour
    return hour
  }

  step(one: Step): void {
    const oracle = this.#oracle
    const running = oracle.requests.filter(({ state }) => state === 'runs')
    switch (one.do) {
      case 'hold': {
        const id = `req_${oracle.requests.length}`
        const held = BigInt(one.tokens) * RATE
        const answer = this.#machine.ask({ kind: 'hold', request: holdRequest(id, one.key, picos(held), { now: this.#now }) }) as HoldAnswer
        const hour = this.#hourOf(one.key)
        expect([hour - hourAt(this.#now), shown(answer)]).toEqual([hour - hourAt(this.#now), oracle.expected(one.key, hour)])
        if (answer !== 'held') return
        expect(hourAt(this.#machine.wallets.holds().find(({ requestId }) => requestId === id)?.startedAt ?? 0)).toBe(hour)
        oracle.requests.push({ id, key: one.key, hour, held, cost: 0n, state: 'runs' })
        return
      }
      case 'settle': {
        const request = running[one.which % running.length]
        if (request === undefined) return
        const settled = settlement(request.id, { output: one.tokens }, { now: this.#now })
        expect(this.#machine.ask({ kind: 'settle', settlement: settled })).toBe('settled')
        Object.assign(request, { state: 'over', cost: settled.costPicos })
        return
      }
      case 'void': {
        const request = running[one.which % running.length]
        if (request === undefined) return
        this.#machine.ask({ kind: 'void', requestId: request.id })
        request.state = 'over'
        return
      }
      case 'budget':
        this.#setBudget(one)
        return
      case 'plan':
        if (one.tokens === null) oracle.plan.delete(one.per)
        else oracle.plan.set(one.per, BigInt(one.tokens) * RATE)
        return
      case 'clock':
        this.#now += one.hours * HOUR_MS
        return
      case 'kill':
        this.#machine.db.close()
        this.#machine = this.#open()
        // The memory of the newest hour goes with the process; what it held left no row.
        this.#hour = 0
        this.#read.clear()
        for (const request of running) request.state = 'over'
    }
  }

  #setBudget(one: Extract<Step, { do: 'budget' }>): void {
    const { budgets } = this.#oracle
    const name = one.of === 'account' ? ACCOUNT_OF[one.key] : one.key
    const amount = one.tokens === null ? null : picos(BigInt(one.tokens) * RATE)
    const ceiling = budgets.get(`${name} ${one.per} operator`)
    const isTooMuch = one.by === 'customer' && amount !== null && ceiling !== undefined && amount > ceiling
    const { result } = this.#machine.ask(
      operateTask({
        kind: 'setBudget',
        accountId: ACCOUNT_OF[one.key],
        keyId: one.of === 'account' ? null : one.key,
        per: one.per,
        capPicos: amount,
        setBy: one.by,
        now: this.#now,
      }),
    ) as { result: string }
    expect(result).toBe(isTooMuch ? 'refused' : 'done')
    if (isTooMuch) return
    if (amount === null) budgets.delete(`${name} ${one.per} ${one.by}`)
    else budgets.set(`${name} ${one.per} ${one.by}`, amount)
  }

  finish(): void {
    expect(this.#machine.differences()).toEqual([])
    this.#machine.close()
  }
}

const FOUND: readonly (readonly Step[])[] = [
  [
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: -200 },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: 168 },
    { do: 'clock', hours: -200 },
    { do: 'hold', key: 'key_2', tokens: 1 },
    { do: 'clock', hours: 20 },
    { do: 'settle', which: 0, tokens: 1 },
    { do: 'hold', key: 'key_1', tokens: 1 },
  ],
  [
    { do: 'budget', of: 'key', key: 'key_0', per: 'week', tokens: 1, by: 'operator' },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: -200 },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: 168 },
    { do: 'hold', key: 'key_0', tokens: 1 },
  ],
  [
    { do: 'budget', of: 'account', key: 'key_0', per: 'hour', tokens: 1, by: 'operator' },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: 20 },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'clock', hours: -200 },
    { do: 'settle', which: 0, tokens: 1 },
    { do: 'hold', key: 'key_1', tokens: 1 },
    { do: 'clock', hours: 168 },
    { do: 'hold', key: 'key_0', tokens: 1 },
    { do: 'settle', which: 0, tokens: 1 },
    { do: 'hold', key: 'key_1', tokens: 1 },
  ],
]

test('what is admitted is what the oracle says, over kills, changes of budgets and a clock that steps back and forth over edges', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const history = new History()
      for (const one of steps) history.step(one)
      history.finish()
    }),
    // Each run makes a ledger in a file. The examples are histories that runs have found: a window that begins with something ahead in it.
    { numRuns: Math.min(runs(25), 80), examples: FOUND.map((steps) => [[...steps]]) },
  )
}, 300_000)

test('a hundred requests at once at the last cent of a window: what is spent ends one request above it at most', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_0', { balanceUsd: '1000' })))
  const budget = {
    kind: 'setBudget',
    accountId: 'acc_0',
    keyId: 'key_0',
    per: 'day',
    capPicos: picos(10n * RATE),
    setBy: 'operator',
    now: NOW,
  } as const
  machine.ask(operateTask(budget))
  const held = Array.from({ length: 100 }, (_, index) => `req_${index}`).filter(
    (id) => machine.ask({ kind: 'hold', request: holdRequest(id, 'key_0', picos(3n * RATE)) }) === 'held',
  )
  // 3 + 3 + 3 are within, and one more begins while something is left.
  expect(held).toHaveLength(4)
  for (const id of held) machine.ask({ kind: 'settle', settlement: settlement(id, { output: 3 }) })
  expect(machine.ask({ kind: 'hold', request: holdRequest('req_last', 'key_0', picos(RATE)) })).toEqual({
    per: 'day',
    resetsAt: windowAt('day', hourAt(NOW)).end * HOUR_MS,
  })
  expect(machine.wallets.keys.keyBalanceOf('key_0')?.windows).toEqual([
    {
      of: 'key',
      per: 'day',
      capPicos: picos(10n * RATE),
      spentPicos: picos(12n * RATE),
      heldPicos: picos(0n),
      resetsAt: windowAt('day', hourAt(NOW)).end * HOUR_MS,
    },
  ])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('over the edge of a window what runs stays in the earlier one, and a clock that goes back opens that one no more', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_0', { balanceUsd: '1000' })))
  const budget = {
    kind: 'setBudget',
    accountId: 'acc_0',
    keyId: 'key_0',
    per: 'hour',
    capPicos: picos(4n * RATE),
    setBy: 'operator',
    now: NOW,
  } as const
  machine.ask(operateTask(budget))
  const hold = (id: string, now: number) => machine.ask({ kind: 'hold', request: holdRequest(id, 'key_0', picos(4n * RATE), { now }) })
  const leftNow = () =>
    machine.wallets.keys.keyBalanceOf('key_0')?.windows?.map(({ spentPicos, heldPicos }) => [spentPicos / RATE, heldPicos / RATE])
  expect(hold('req_first', NOW)).toBe('held')
  expect(hold('req_no', NOW)).toBe('reserved')
  // What the first one holds is of the hour before.
  expect(hold('req_second', NOW + HOUR_MS)).toBe('held')
  expect(leftNow()).toEqual([[0n, 4n]])
  machine.ask({ kind: 'settle', settlement: settlement('req_first', { output: 4 }, { now: NOW + HOUR_MS }) })
  expect(leftNow()).toEqual([[0n, 4n]])
  machine.ask({ kind: 'settle', settlement: settlement('req_second', { output: 3 }, { now: NOW + HOUR_MS }) })
  // The clock goes back: the request counts in the newer hour, of which it uses up the rest.
  expect(hold('req_third', NOW)).toBe('held')
  machine.ask({ kind: 'settle', settlement: settlement('req_third', { output: 1 }, { now: NOW }) })
  expect(hold('req_no', NOW)).toEqual({ per: 'hour', resetsAt: NOW + 2 * HOUR_MS })
  const hours = machine.db
    .query<{ hour: bigint; spent: bigint }, []>('SELECT hour, spent_picos AS spent FROM key_hours ORDER BY hour')
    .all()
  expect(hours.map(({ hour, spent }) => [Number(hour) - hourAt(NOW), spent / RATE])).toEqual([
    [0, 4n],
    [1, 4n],
  ])
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('in a ledger that is made new every hour is checked, also one from before the month in which it was made', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_0', { balanceUsd: '1' })))
  const longAgo = NOW - 10_000 * HOUR_MS
  expect(machine.ask({ kind: 'hold', request: holdRequest('req_old', 'key_0', picos(4n * RATE), { now: longAgo }) })).toBe('held')
  machine.ask({ kind: 'settle', settlement: settlement('req_old', { output: 4 }, { now: longAgo }) })
  expect(machine.differences()).toEqual([])
  for (const table of ['key_hours', 'account_hours']) machine.db.run(`UPDATE ${table} SET spent_picos = spent_picos + 1`)
  expect(machine.differences().map(({ rule }) => rule)).toEqual(['what a key spent in an hour is the sum of its receipts'])
  machine.close()
})

test('where it is not known from which hour on sums are whole, verify says so, and is not silent about all of them', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_0', { balanceUsd: '1' })))
  machine.db.run("DELETE FROM meta WHERE name = 'hours_from'")
  expect(machine.differences()).toEqual([
    { rule: 'the first hour of which sums are whole is known', subject: 'hours_from', stored: 'none', recomputed: '0' },
  ])
  machine.close()
})
