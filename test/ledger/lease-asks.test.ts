/** A request that no lease covers is let in, refused, or waits a moment for others, as the ledger answers its ask. Rules: ledger.md "Leases". */

import { expect, spyOn, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { Leases } from '../../src/ledger/admission/leases.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { Writer } from '../../src/ledger/admission/writer.ts'
import type { LeaseAnswer } from '../../src/ledger/lease-move.ts'
import type { HoldAnswer } from '../../src/ledger/ledger.ts'
import type { Answers, Task } from '../../src/ledger/task.ts'
import { LeaseModel } from './../support/lease-model.ts'
import { holdRequest, settlement } from '../support/ledger.ts'
import { until } from '../support/until.ts'

const LANE = 1
const OTHER = 2

/** A node over the model, whose answers come a turn later, or when `state.held` is released. `limits`: of keys 1, 2, … */
function makeNode({ balance = 100n, limits = [null] as readonly (bigint | null)[], idleMs = 60_000 } = {}) {
  const model = new LeaseModel(2, [balance], limits)
  const wallets = new Wallets()
  limits.forEach((limit, index) => {
    wallets.keys.load({
      keyId: `key_${index + 1}`,
      keyNumber: index + 1,
      accountId: 'acc_1',
      accountNumber: 1,
      isActive: true,
      isAccountActive: true,
      plan: 'default',
      expiresAt: null,
      limitPicos: limit === null ? null : picos(limit),
      spentPicos: picos(0n),
      balancePicos: picos(balance),
      lastSyncedAt: 0,
      toppedUpAt: null,
    })
  })
  /** `underWay`: requests for which an ask is, now and at most. */
  const state = {
    asks: 0,
    askedKeys: [] as number[],
    underWay: 0,
    underWayMax: 0,
    waits: 0,
    isAway: false,
    isBroken: false,
    bugs: [] as unknown[],
  }
  let late: Promise<void> | undefined
  const answerTo = (task: Task): LeaseAnswer | 'unavailable' => {
    if (state.isAway) return 'unavailable'
    const [answer] = task.kind === 'ask' ? model.move(LANE, [task.ask]) : task.kind === 'release' ? model.move(LANE, [task.release]) : []
    return answer ?? 'unavailable'
  }
  const ask = async (task: Task): Promise<unknown> => {
    if (state.isBroken) throw new Error('a bug')
    if (task.kind === 'ask') {
      state.asks++
      state.askedKeys.push(task.ask.keyNumber)
      state.underWayMax = Math.max(state.underWayMax, ++state.underWay)
    }
    const known = late && answerTo(task)
    await (late ?? Bun.sleep(0))
    const answer = known ?? answerTo(task)
    if (task.kind === 'ask') {
      state.underWay--
      wallets.answered(task.ask, answer as Answers['ask'], 0)
    }
    if (task.kind === 'release') wallets.released(task.release, answer as Answers['release'])
    return answer
  }
  const writer = { ask } as unknown as Writer
  const leases = new Leases({ wallets, writer, idleMs, onHeld: () => state.waits++, onBug: (bug) => state.bugs.push(bug) })
  const hold = async (requestId: string, amount: bigint, key = 1): Promise<HoldAnswer | 'unknown'> =>
    await leases.hold(holdRequest(requestId, `key_${key}`, picos(amount)))
  /** `count` requests at once. */
  const holdMany = (count: number, amount: bigint, keyOf = (_: number): number => 1) =>
    Promise.all(Array.from({ length: count }, (_, n) => hold(`many_${n}`, amount, keyOf(n))))
  /** What is asked from now on is done at once, and heard when that is called. */
  const delay = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    late = promise
    return () => {
      late = undefined
      resolve()
    }
  }
  /** Another node's lease. */
  const leaseElsewhere = (amount: bigint, key = 1) =>
    model.move(OTHER, [
      { number: 1, accountNumber: 1, accountRunsPicos: picos(0n), keyNumber: key, keyRunsPicos: picos(0n), amountPicos: picos(amount) },
    ])
  const giveBackElsewhere = (stays: bigint, key = 1) =>
    model.move(OTHER, [{ number: 2, accountNumber: 1, accountRunsPicos: picos(stays), keyNumber: key, keyRunsPicos: picos(stays) }])
  return { model, wallets, leases, hold, holdMany, delay, state, leaseElsewhere, giveBackElsewhere }
}

/** A clock that moves with each look at it, by so little that nobody who waits is told within a test, however long the machine takes; `passAll`: by all that they wait. */
function slowClock() {
  let nowMs = 0
  const clock = spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.1))
  return {
    passAll: () => {
      nowMs += 100
    },
    [Symbol.dispose]: () => clock.mockRestore(),
  }
}

test('two hundred requests at once of an account that is used up, or reserved, are two asks, and all are told the same', async () => {
  const poor = makeNode({ balance: 0n })
  expect(new Set(await poor.holdMany(200, 5n))).toEqual(new Set(['exhausted']))
  expect(poor.state.asks).toBe(2)
  const busy = makeNode()
  await busy.hold('req_1', 120n)
  expect(new Set(await busy.holdMany(200, 5n))).toEqual(new Set(['reserved']))
  expect(busy.state.asks).toBe(1 + 2)
  const limited = makeNode({ balance: 1_000n, limits: [0n, null] })
  expect(new Set(await limited.holdMany(200, 5n))).toEqual(new Set(['exhausted']))
  expect(limited.state.asks).toBe(2)
})

test('two hundred requests that wait for other nodes share the asks of one, and are told within a tenth of a second', async () => {
  const { holdMany, leaseElsewhere, state } = makeNode()
  leaseElsewhere(120n)
  expect(new Set(await holdMany(200, 5n))).toEqual(new Set(['reserved']))
  expect(state.asks).toBeLessThan(10)
  expect(state.underWayMax).toBe(1)
})

test('two hundred requests of many keys of a poor account are an ask for some of them, which is told to all', async () => {
  const { hold, holdMany, state } = makeNode({ limits: Array.from({ length: 100 }, () => null) })
  await hold('req_1', 120n)
  expect(new Set(await holdMany(200, 5n, (n) => 1 + (n % 100)))).toEqual(new Set(['reserved']))
  expect(state.asks).toBeLessThan(1 + 20)
})

test('what is granted is held in the order in which it was asked for', async () => {
  const { holdMany, state } = makeNode({ balance: 100n })
  const answers = await holdMany(20, 19n)
  expect(answers).toEqual(answers.map((_, n) => (n < 6 ? 'held' : 'reserved')))
  expect(state.asks).toBeLessThan(10)
  expect(state.waits).toBe(6)
})

test('a small request does not overtake a large one of its key that waits', async () => {
  const { hold, giveBackElsewhere, leaseElsewhere } = makeNode({ balance: 100n })
  leaseElsewhere(120n)
  const answers = Promise.all([hold('large', 60n), hold('small', 60n)])
  giveBackElsewhere(60n)
  expect(await answers).toEqual(['held', 'reserved'])
})

test('nobody takes what has come free here from another of its key that waits for it', async () => {
  const { hold, wallets, leaseElsewhere } = makeNode({ balance: 100n })
  leaseElsewhere(60n)
  await hold('req_1', 50n)
  using clock = slowClock()
  const first = hold('req_2', 45n)
  await Bun.sleep(2)
  wallets.void('req_1')
  const second = hold('req_3', 10n)
  expect(wallets.holds()).toEqual([])
  expect(await first).toBe('held')
  clock.passAll()
  expect(await second).toBe('reserved')
})

test('with enough for all of them, many requests at once are held with two asks', async () => {
  const { holdMany, state } = makeNode({ balance: 1_000_000n })
  expect(new Set(await holdMany(200, 19n))).toEqual(new Set(['held']))
  expect(state.asks).toBeLessThan(3)
})

test('whoever comes when the ask is sent already is not refused by its answer, but asked for again', async () => {
  const { hold, delay, wallets, state } = makeNode()
  await hold('req_1', 120n)
  const hear = delay()
  const early = hold('req_2', 5n)
  wallets.void('req_1')
  const late = hold('req_3', 5n)
  expect(state.asks).toBe(2)
  hear()
  expect(await Promise.all([early, late])).toEqual(['reserved', 'held'])
})

test('a key whose limit is used up, or leased elsewhere, neither refuses nor delays the other keys of its account', async () => {
  const { hold, leaseElsewhere, state } = makeNode({ balance: 100_000n, limits: [100n, 0n, null] })
  leaseElsewhere(120n)
  // While no time passes nobody who waits is told.
  let nowMs = 0
  using _clock = spyOn(performance, 'now').mockImplementation(() => nowMs)
  const waiting = hold('req_1', 5n)
  expect(await Promise.all([hold('req_2', 5n, 2), hold('req_3', 5n, 3)])).toEqual(['exhausted', 'held'])
  await Bun.sleep(20)
  expect(await hold('req_4', 20_000n, 3)).toBe('held')
  for (let n = 0; n < 10; n++) await hold(`again_${n}`, 5n, 2)
  nowMs = 100
  expect(await waiting).toBe('reserved')
  expect(state.askedKeys.filter((key) => key === 1).length).toBeLessThan(8)
  expect(state.bugs).toEqual([])
})

test('more keys than one ask is for are asked for in turn, a part at a time', async () => {
  const { holdMany, state } = makeNode({ balance: 1_000_000n, limits: Array.from({ length: 100 }, () => 30n) })
  const answers = await holdMany(300, 19n, (n) => 1 + (n % 100))
  expect(answers).toEqual(answers.map((_, n) => (n < 200 ? 'held' : 'reserved')))
  expect(state.underWayMax).toBe(16)
})

test('keys for which many wait do not keep the others from their turn', async () => {
  const { hold, holdMany, state } = makeNode({ balance: 1_000_000n, limits: Array.from({ length: 17 }, () => 30n) })
  const many = holdMany(64, 7n, (n) => 1 + (n % 16))
  expect(await hold('req_1', 7n, 17)).toBe('held')
  expect(state.asks).toBeLessThan(1 + 3 * 16 + 1)
  expect(new Set(await many)).toEqual(new Set(['held']))
})

test('where others have what is left, it is asked for again until they have given it back', async () => {
  const { hold, leaseElsewhere, giveBackElsewhere, state } = makeNode()
  leaseElsewhere(120n)
  using _clock = slowClock()
  const answer = hold('req_1', 30n)
  while (state.asks < 3) await Bun.sleep(1)
  giveBackElsewhere(0n)
  expect(await answer).toBe('held')
})

test('who waits for others is told after a tenth of a second that what is left is reserved', async () => {
  const { hold, leaseElsewhere, state } = makeNode()
  leaseElsewhere(120n)
  // On a clock that only what is waited for moves, however long the machine takes.
  let nowMs = 0
  const later = setTimeout
  using _clock = spyOn(performance, 'now').mockImplementation(() => nowMs)
  using _timers = spyOn(globalThis, 'setTimeout').mockImplementation(((then: () => void, ms = 0) => {
    nowMs += ms
    return later(then)
  }) as typeof setTimeout)
  expect(await hold('req_1', 30n)).toBe('reserved')
  expect(nowMs).toBeGreaterThanOrEqual(75)
  expect(nowMs).toBeLessThanOrEqual(100)
  expect(state.asks).toBeLessThan(10)
})

test('what is held here alone is reserved at once, what is used up is exhausted at once, and a key that is off is disabled', async () => {
  const here = makeNode()
  expect(await here.hold('req_1', 120n)).toBe('held')
  expect(await here.hold('req_2', 1n)).toBe('reserved')
  expect(here.state.asks).toBe(2)
  expect(await makeNode({ balance: 0n }).hold('req_1', 0n)).toBe('exhausted')
  expect(await makeNode({ limits: [0n] }).hold('req_1', 5n)).toBe('exhausted')
  here.wallets.keys.apply({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: 0 }, true)
  expect(await here.hold('req_3', 1n)).toBe('disabled')
})

test('a request that holds nothing needs a balance as any other does', async () => {
  const { hold, state } = makeNode({ balance: 1n })
  expect(await hold('req_1', 5n)).toBe('held')
  expect(await hold('req_2', 0n)).toBe('reserved')
  expect(state.asks).toBe(2)
})

test('a ledger that does not answer lets nobody in, and what it leased before still serves', async () => {
  const { hold, state } = makeNode({ balance: 10_000n })
  expect(await hold('req_1', 10n)).toBe('held')
  state.isAway = true
  expect(await hold('req_2', 10n)).toBe('held')
  expect(await hold('req_3', 9_000n)).toBe('unavailable')
})

test('an ask that fails by a bug refuses those who wait, and no one who comes later', async () => {
  const { hold, state } = makeNode()
  state.isBroken = true
  expect(await hold('req_1', 10n)).toBe('unavailable')
  expect(state.bugs).toHaveLength(1)
  state.isBroken = false
  expect(await Promise.race([hold('req_2', 10n), Bun.sleep(60_000)])).toBe('held')
})

test('a key that is turned off while its request is asked for is not held, and what it was granted goes back', async () => {
  const { hold, wallets, model } = makeNode()
  const answer = hold('req_1', 60n)
  wallets.keys.apply({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: 0 }, true)
  expect(await answer).toBe('disabled')
  expect(wallets.holds()).toEqual([])
  await untilGivenBack(model)
})

test('what many ask for at once is granted in one part each, and nobody uses what was set aside for another', async () => {
  const { hold, model, wallets } = makeNode({ balance: 95n })
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => hold(`req_${n}`, 19n)))
  expect(answers.filter((answer) => answer === 'held')).toHaveLength(5)
  expect(wallets.holds()).toHaveLength(5)
  expect(model.leasesOf('account', 1)).toEqual([{ lane: LANE, amount: 95n }])
})

test('what lies idle goes back by itself, what a small balance leaves at once, and everything at the end', async () => {
  const idle = makeNode({ balance: 10_000n, idleMs: 20 })
  await idle.hold('req_1', 10n)
  idle.wallets.void('req_1')
  idle.leases.noteEnd('key_1')
  await Bun.sleep(0)
  expect(idle.model.leasesOf('account', 1)[0]?.amount).toBeGreaterThan(10n)
  await untilGivenBack(idle.model)
  const small = makeNode()
  await small.hold('req_1', 60n)
  small.wallets.settle(settlement('req_1', {}, { costPicos: picos(0n) }))
  small.leases.noteEnd('key_1')
  await untilGivenBack(small.model)
  const failed = makeNode({ balance: 10_000n, idleMs: 20 })
  await failed.hold('req_1', 10n)
  await Bun.sleep(80)
  failed.wallets.settle(settlement('req_1', {}, { costPicos: picos(10n) }))
  failed.wallets.putBack('req_1')
  await untilGivenBack(failed.model)
  const last = makeNode({ balance: 10_000n })
  await last.hold('req_1', 10n)
  last.leases.stop()
  await Bun.sleep(1)
  expect(last.model.leasesOf('account', 1)).toEqual([{ lane: LANE, amount: 10n }])
  expect([idle, small, last].flatMap(({ state }) => state.bugs)).toEqual([])
})

/** Nothing is leased any more. */
async function untilGivenBack(model: ReturnType<typeof makeNode>['model']): Promise<void> {
  const amounts = () => model.leasesOf('account', 1)
  await until(() => amounts()[0]?.amount === 0n)
  expect(amounts()).toEqual([{ lane: LANE, amount: 0n }])
}
