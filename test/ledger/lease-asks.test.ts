/** A request that no lease covers is let in, refused, or waits a moment for others, as the ledger answers its ask. Rules: ledger.md "Leases". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { Leases } from '../../src/ledger/leases.ts'
import type { HoldAnswer } from '../../src/ledger/ledger.ts'
import type { Answers, LeaseAnswer, Task } from '../../src/ledger/task.ts'
import { Wallets } from '../../src/ledger/wallets.ts'
import type { Writer } from '../../src/ledger/writer.ts'
import { LeaseModel } from './../support/lease-model.ts'
import { holdRequest, settlement } from '../support/ledger.ts'

const LANE = 1
const OTHER = 2

/** A node over the model, whose answers come a turn later, each through `change` first. */
function makeNode({ balance = 100n, limit = null as bigint | null, idleMs = 60_000 } = {}) {
  const model = new LeaseModel(2, [balance], [limit])
  const wallets = new Wallets()
  wallets.load({
    keyId: 'key_1',
    keyNumber: 1,
    accountId: 'acc_1',
    accountNumber: 1,
    isActive: true,
    isAccountActive: true,
    expiresAt: null,
    limitPicos: limit === null ? null : picos(limit),
    spentPicos: picos(0n),
    balancePicos: picos(balance),
    lastSyncedAt: 0,
    toppedUpAt: null,
  })
  const state = { asks: 0, isAway: false, isClosing: false, bugs: [] as unknown[] }
  const answerTo = (task: Task): LeaseAnswer | 'unavailable' => {
    if (state.isAway) return 'unavailable'
    const [answer] = task.kind === 'ask' ? model.move(LANE, [task.ask]) : task.kind === 'release' ? model.move(LANE, [task.release]) : []
    return answer ?? 'unavailable'
  }
  const ask = async (task: Task): Promise<unknown> => {
    if (task.kind === 'ask') state.asks++
    await Bun.sleep(0)
    const answer = answerTo(task)
    if (task.kind === 'ask') wallets.answered(task.ask, answer as Answers['ask'], 0)
    if (task.kind === 'release') wallets.released(task.release, answer as Answers['release'])
    return answer
  }
  const writer = {
    ask,
    get isClosing() {
      return state.isClosing
    },
  } as unknown as Writer
  const leases = new Leases({ wallets, writer, idleMs, onBug: (bug) => state.bugs.push(bug) })
  const hold = async (requestId: string, amount: bigint): Promise<HoldAnswer | 'unknown'> =>
    await leases.hold(holdRequest(requestId, 'key_1', picos(amount)))
  /** Another node's lease. */
  const leaseElsewhere = (amount: bigint) =>
    model.move(OTHER, [
      { number: 1, accountNumber: 1, accountRunsPicos: picos(0n), keyNumber: 1, keyRunsPicos: picos(0n), amountPicos: picos(amount) },
    ])
  const giveBackElsewhere = (stays: bigint) =>
    model.move(OTHER, [{ number: 2, accountNumber: 1, accountRunsPicos: picos(stays), keyNumber: 1, keyRunsPicos: picos(stays) }])
  return { model, wallets, leases, hold, state, leaseElsewhere, giveBackElsewhere }
}

test('where others have what is left, it is asked for again until they have given it back', async () => {
  const { hold, leaseElsewhere, giveBackElsewhere, state } = makeNode()
  leaseElsewhere(120n)
  const answer = hold('req_1', 30n)
  await Bun.sleep(30)
  expect(state.asks).toBeGreaterThan(1)
  giveBackElsewhere(0n)
  expect(await answer).toBe('held')
})

test('who waits for others is told after a tenth of a second that what is left is reserved', async () => {
  const { hold, leaseElsewhere, state } = makeNode()
  leaseElsewhere(120n)
  const startedMs = performance.now()
  expect(await hold('req_1', 30n)).toBe('reserved')
  expect(performance.now() - startedMs).toBeGreaterThan(95)
  expect(performance.now() - startedMs).toBeLessThan(400)
  expect(state.asks).toBeLessThan(10)
})

test('what is held here alone is reserved at once, what is used up is exhausted at once, and a key that is off is disabled', async () => {
  const here = makeNode()
  expect(await here.hold('req_1', 120n)).toBe('held')
  expect(await here.hold('req_2', 1n)).toBe('reserved')
  expect(here.state.asks).toBe(2)
  expect(await makeNode({ balance: 0n }).hold('req_1', 0n)).toBe('exhausted')
  expect(await makeNode({ limit: 0n }).hold('req_1', 5n)).toBe('exhausted')
  here.wallets.apply({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: 0 }, true)
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

test('a key that is turned off while its request is asked for is not held', async () => {
  const { hold, wallets } = makeNode()
  const answer = hold('req_1', 10n)
  wallets.apply({ kind: 'setKeyActive', keyId: 'key_1', isActive: false, now: 0 }, true)
  expect(await answer).toBe('disabled')
  expect(wallets.holds()).toEqual([])
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

/** Nothing is leased any more; a busy machine takes its time. */
async function untilGivenBack(model: ReturnType<typeof makeNode>['model']): Promise<void> {
  const endMs = performance.now() + 5_000
  const amounts = () => model.leasesOf('account', 1)
  while (amounts()[0]?.amount !== 0n && performance.now() < endMs) await Bun.sleep(1)
  expect(amounts()).toEqual([{ lane: LANE, amount: 0n }])
}
