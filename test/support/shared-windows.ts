/**
 * Three processes that share a ledger whose keys have budgets, without threads: wallets with leases in each, over one store of a file with three relays, or over three nodes on Postgres. Asks and
 * answers wait until they are delivered, in any order that keeps each process's own. Every admission is checked against all requests of all processes: something of each window was left.
 */

import { expect } from 'bun:test'
import fc from 'fast-check'
import { type Picos, picos } from '../../src/core/money.ts'
import { type Budgets, HOUR_MS, hourAt, PERS, type Per, windowAt } from '../../src/core/windows.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { Difference } from '../../src/ledger/chain/difference.ts'
import type { KeyState } from '../../src/ledger/key-state.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../../src/ledger/lease-move.ts'
import type { Operation } from '../../src/ledger/operation.ts'
import type { Task } from '../../src/ledger/task.ts'
import type { Store } from '../../src/ledger/writing/store.ts'
import { ACT, createKey, holdRequest, settlement } from './ledger.ts'

export const PROCESSES = 3
const RATE = 15_000_000n
const KEYS = ['key_0', 'key_1', 'key_2'] as const
const ACCOUNT_OF = { key_0: 'acc_0', key_1: 'acc_0', key_2: 'acc_2' } as const
const PLAN_OF = { key_0: 'default', key_1: 'small', key_2: 'small' } as const
type Key = (typeof KEYS)[number]

/** What a process writes by: the same store for all relays of a file, and the boot of the relay. */
type Place = Readonly<{ store: Store; boot: number | undefined }>

/** `places`: by process. `killed`: the process has died, and another one begins in its place. `clock`: the ledger's, which the walk moves. */
export type SharedGround = Readonly<{
  places: readonly Place[]
  killed: (index: number) => Place
  clock: { nowMs: number }
  differences: () => readonly Difference[]
  close: () => void
}>

/** `at`: the hour in which it was admitted, or for which the ledger refused it. */
type Request = { id: string; key: Key; at: number; held: bigint; cost: bigint; process: number; state: 'asked' | 'runs' | 'over' }

export type SharedStep =
  | Readonly<{ do: 'hold'; process: number; key: Key; tokens: number }>
  | Readonly<{ do: 'settle' | 'void'; which: number; tokens: number }>
  | Readonly<{ do: 'budget'; key: Key; isOfAccount: boolean; per: Per; tokens: number | null }>
  | Readonly<{ do: 'plan'; per: Per; tokens: number | null }>
  | Readonly<{ do: 'clock'; hours: number }>
  | Readonly<{ do: 'deliver' | 'sweep' | 'kill'; process: number }>

const key = fc.constantFrom(...KEYS)
const per = fc.constantFrom(...PERS)
const process = fc.nat(PROCESSES - 1)
const tokens = fc.integer({ min: 1, max: 9 })
const cap = fc.option(fc.integer({ min: 1, max: 40 }), { freq: 4 })
export const sharedStep: fc.Arbitrary<SharedStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('hold' as const), process, key, tokens }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('settle' as const), which: fc.nat(20), tokens }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const), which: fc.nat(20), tokens }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('budget' as const), key, isOfAccount: fc.boolean(), per, tokens: cap }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('plan' as const), per, tokens: cap }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('clock' as const), hours: fc.constantFrom(-200, -30, -2, 0.3, 1, 1, 1, 20, 24 * 7) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('deliver' as const), process }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const), process }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const), process }) },
)

export class SharedWalk {
  readonly #ground: SharedGround
  readonly #places: Place[]
  readonly #wallets: Wallets[]
  readonly #told = [0, 0, 0]
  readonly #requests: Request[] = []
  readonly #asks: { ask: LeaseAsk; request: Request }[][] = [[], [], []]
  readonly #plan = new Map<Per, Picos>()
  readonly #budgets = new Map<string, Picos>()
  readonly #startMs: number

  constructor(ground: SharedGround) {
    this.#ground = ground
    this.#startMs = ground.clock.nowMs
    this.#places = [...ground.places]
    this.#wallets = this.#places.map((place) => this.#walletsAt(place))
    for (const of of KEYS) {
      const more = of === 'key_1' ? { accountId: 'acc_0' } : { balanceUsd: '1000' }
      this.#operate(createKey(of, { plan: PLAN_OF[of], now: this.#startMs, ...more }))
    }
  }

  #walletsAt = ({ boot }: Place): Wallets => new Wallets(undefined, boot, (plan) => this.#budgetsOfPlan(plan))

  /** What it held and had leased is free; what it asked is not answered, and left no row. */
  #kill(index: number): void {
    const place = this.#ground.killed(index)
    this.#places[index] = place
    this.#wallets[index] = this.#walletsAt(place)
    this.#told[index] = 0
    this.#asks[index] = []
    for (const request of this.#requests) if (request.process === index) request.state = 'over'
  }

  #budgetsOfPlan(plan: string): Budgets {
    return plan === 'small' ? budgetsIn((length) => this.#plan.get(length)) : []
  }

  step(step: SharedStep): void {
    switch (step.do) {
      case 'hold':
        this.#hold(step.process, step.key, BigInt(step.tokens) * RATE)
        return
      case 'settle':
      case 'void':
        this.#end(step.do, step.which, step.tokens)
        return
      case 'deliver':
        this.#deliver(step.process)
        return
      case 'sweep':
        this.#send(step.process, this.#wallets[step.process]?.sweepLeases() ?? [])
        return
      case 'kill':
        this.#kill(step.process)
        return
      case 'clock':
        this.#ground.clock.nowMs += step.hours * HOUR_MS
        return
      case 'plan':
        this.#settleDown()
        if (step.tokens === null) this.#plan.delete(step.per)
        else this.#plan.set(step.per, picos(BigInt(step.tokens) * RATE))
        // Where a plan gets its first budget, what ran before is in no lease of it.
        this.#endAll()
        return
      case 'budget':
        this.#settleDown()
        this.#setBudget(step)
        this.#endAll()
    }
  }

  /** What is asked for, held and leased ends; then each window lets in what it leaves, on any process, and the ledger's sums agree. */
  finish(): void {
    this.#settleDown()
    this.#endAll()
    for (const of of KEYS) {
      const isLeft = this.#windowsOf(of, this.#hourOfLedger(of)).every(({ left }) => left > 0n)
      for (const index of this.#wallets.keys()) {
        const request = this.#hold(index, of, 0n)
        this.#settleDown()
        expect([of, index, request.state === 'runs']).toEqual([of, index, isLeft])
        this.#endAll()
      }
    }
    expect(this.#ground.differences()).toEqual([])
    this.#ground.close()
  }

  #hold(index: number, of: Key, held: bigint): Request {
    const wallets = this.#of(index)
    const request: Request = { id: `req_${this.#requests.length}`, key: of, at: 0, held, cost: 0n, process: index, state: 'asked' }
    this.#requests.push(request)
    const asked = holdRequest(request.id, of, picos(held), { now: this.#ground.clock.nowMs })
    if (!wallets.keys.has(of)) for (const state of this.#statesOf(index, of)) wallets.keys.load(state)
    const answer = wallets.holdLeased(asked, this.#ground.clock.nowMs)
    if (typeof answer === 'object') this.#asks[index]?.push({ ask: answer, request })
    else if (answer === 'held') this.#admitted(request)
    else request.state = 'over'
    return request
  }

  /** One ask of the process is answered: by the ledger as it is now, behind the settles that were sent before. */
  #deliver(index: number): void {
    const asked = this.#asks[index]?.shift()
    if (asked === undefined) return
    const { ask, request } = asked
    const answer = this.#apply(index, { kind: 'ask', ask: this.#stamped(index, ask) }) as LeaseAnswer | 'unavailable'
    const wallets = this.#of(index)
    wallets.answered(ask, answer, this.#ground.clock.nowMs)
    if (wallets.holds().some(({ requestId }) => requestId === request.id)) this.#admitted(request)
    else this.#refused(request, answer)
  }

  #refused(request: Request, answer: LeaseAnswer | 'unavailable'): void {
    request.state = 'over'
    request.at = (answer === 'unavailable' ? undefined : answer.windows?.hour) ?? 0
  }

  /** Something of each of its windows must have been left, all processes together. */
  #admitted(request: Request): void {
    const hold = this.#of(request.process)
      .holds()
      .find(({ requestId }) => requestId === request.id)
    request.at = hourAt(hold?.startedAt ?? 0)
    for (const { per: length, free } of this.#windowsOf(request.key, request.at)) {
      if (free <= 0n) throw new Error(`${request.id} of ${request.key} by ${request.process}: its ${length} has ${free} left`)
    }
    request.state = 'runs'
  }

  #windowsOf(of: Key, hour: number): readonly { per: Per; left: bigint; free: bigint }[] {
    const scopes = [
      { budgets: budgetsIn((length) => this.#budgets.get(`${of} ${length}`)), covers: (one: Request) => one.key === of },
      {
        budgets: budgetsIn((length) => this.#budgets.get(`${ACCOUNT_OF[of]} ${length}`)),
        covers: (one: Request) => ACCOUNT_OF[one.key] === ACCOUNT_OF[of],
      },
      {
        budgets: this.#budgetsOfPlan(PLAN_OF[of]),
        covers: (one: Request) => ACCOUNT_OF[one.key] === ACCOUNT_OF[of] && PLAN_OF[one.key] === 'small',
      },
    ]
    return scopes.flatMap(({ budgets, covers }) =>
      budgets.map(({ per: length, capPicos }) => {
        const { start, end } = windowAt(length, hour)
        const inWindow = this.#requests.filter((one) => covers(one) && one.at >= start && one.at < end)
        const spent = inWindow.reduce((sum, { state, cost }) => sum + (state === 'over' ? cost : 0n), 0n)
        const held = inWindow.reduce((sum, { state, held: amount }) => sum + (state === 'runs' ? amount : 0n), 0n)
        return { per: length, left: capPicos - spent, free: capPicos - spent - held }
      }),
    )
  }

  #end(how: 'settle' | 'void', which: number, count: number): void {
    const running = this.#requests.filter(({ state }) => state === 'runs')
    const request = running[which % running.length]
    if (request !== undefined) this.#endOf(request, how, count)
  }

  #endOf(request: Request, how: 'settle' | 'void', count: number): void {
    const wallets = this.#of(request.process)
    if (how === 'void') wallets.void(request.id)
    else {
      const settled = settlement(request.id, { output: count }, { now: this.#ground.clock.nowMs })
      const debit = wallets.settle(settled)
      if (debit === undefined) throw new Error(`${request.id} is not held`)
      const boot = this.#places[request.process]?.boot
      expect(this.#apply(request.process, { kind: 'settle', debit: boot === undefined ? debit : { ...debit, boot } })).toBe('settled')
      wallets.settled(request.id)
      request.cost = settled.costPicos
    }
    request.state = 'over'
    const release = wallets.releaseOf(request.key)
    if (release !== undefined) this.#send(request.process, [release])
  }

  #endAll(): void {
    for (const request of this.#requests) if (request.state === 'runs') this.#endOf(request, 'void', 0)
    for (const index of this.#wallets.keys()) this.#send(index, this.#of(index).releases('over'))
  }

  #settleDown(): void {
    for (const index of this.#wallets.keys()) while ((this.#asks[index]?.length ?? 0) > 0) this.#deliver(index)
  }

  #setBudget({ key: of, isOfAccount, per: length, tokens: count }: Extract<SharedStep, { do: 'budget' }>): void {
    const name = `${isOfAccount ? ACCOUNT_OF[of] : of} ${length}`
    const capPicos = count === null ? null : picos(BigInt(count) * RATE)
    if (capPicos === null) this.#budgets.delete(name)
    else this.#budgets.set(name, capPicos)
    const now = this.#ground.clock.nowMs
    const keyId = isOfAccount ? null : of
    this.#operate({ kind: 'setBudget', accountId: ACCOUNT_OF[of], keyId, per: length, capPicos, setBy: 'operator', now })
    for (const [index, wallets] of this.#wallets.entries()) wallets.keys.resync(KEYS.flatMap((one) => this.#statesOf(index, one)))
  }

  #operate(operation: Operation): void {
    const done = this.#apply(0, { kind: 'operate', operation, act: ACT }) as { result: string }
    expect(done.result).toBe('done')
  }

  #send(index: number, releases: readonly LeaseMove[]): void {
    for (const release of releases) {
      const answer = this.#apply(index, { kind: 'release', release: this.#stamped(index, release) }) as LeaseAnswer | 'unavailable'
      this.#of(index).released(release, answer)
    }
  }

  #statesOf(index: number, keyId: string): readonly KeyState[] {
    return this.#apply(index, { kind: 'keyStates', keyIds: [keyId], now: this.#ground.clock.nowMs }) as readonly KeyState[]
  }

  /** The hour for which the ledger grants now, or refuses. */
  #hourOfLedger(of: Key): number {
    const request = this.#hold(0, of, 0n)
    this.#settleDown()
    this.#endAll()
    const clock = hourAt(this.#ground.clock.nowMs)
    if (this.#windowsOf(of, request.at).length > 0)
      expect([clock, request.at, request.at - clock <= 25]).toEqual([clock, Math.max(clock, request.at), true])
    return request.at
  }

  #stamped<Move extends LeaseMove>(index: number, move: Move): Move {
    const boot = this.#places[index]?.boot
    return boot === undefined ? move : { ...move, boot }
  }

  #apply(index: number, task: Task): unknown {
    const { store } = this.#places[index] as Place
    const { prices } = this.#of(index)
    store.define(prices.slice(this.#told[index]))
    this.#told[index] = prices.length
    const applied = store.apply([task])
    if (applied.kind === 'failed') throw new Error(applied.problem)
    if (applied.faults.length > 0) throw new Error(JSON.stringify(applied.faults))
    return applied.answers[0]
  }

  #of(index: number): Wallets {
    const wallets = this.#wallets[index]
    if (wallets === undefined) throw new Error(`there is no process ${index}`)
    return wallets
  }
}

const budgetsIn = (capOf: (length: Per) => Picos | undefined): Budgets =>
  PERS.flatMap((length) => {
    const capPicos = capOf(length)
    return capPicos === undefined ? [] : [{ per: length, capPicos }]
  })
