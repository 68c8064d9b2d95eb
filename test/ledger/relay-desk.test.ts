/** Protects processes.md "Death": the requests of a relay that lives, and has not come again yet, are not waived for another one that goes; what comes of one that is gone is. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Task } from '../../src/ledger/task.ts'
import type { FromThread } from '../../src/ledger/thread-messages.ts'
import { RelayDesk } from '../../src/ledger/writing/relay-desk.ts'
import { createKey, holdTask, makeFolder, NOW, openMachine, operateTask, settlement, usd } from '../support/ledger.ts'
import { until } from '../support/until.ts'

type Desk = ConstructorParameters<typeof RelayDesk>[0]

/** `recovered`: how often what no living relay has in flight was waived. `done`: what was done to spills and relays, in order. `taken`: of which boots spills were taken away. */
function makeDesk(spills: 'sound' | 'full' = 'sound') {
  let recovered = 0
  const done: string[] = []
  const note = (what: string): undefined => void done.push(what)
  const store = {
    relays: { join: () => note('joins') ?? 1, leave: () => note('leaves'), setGranting: () => undefined },
    recover: () => {
      recovered++
      return 0
    },
  }
  const failed = { kind: 'failed', problem: 'no room' }
  const taken: string[][] = []
  const spilled = {
    read: () => (spills === 'full' ? failed : (note('is read') ?? { frames: 0, replayed: [] })),
    takeAway(lives: (bootId: string) => boolean) {
      if (spills === 'full') return failed
      taken.push(['relay-1', 'relay-5'].filter((bootId) => !lives(bootId)))
      return note('is taken away')
    },
  }
  const said: FromThread[] = []
  const loop = { isIdle: true, isSpillEmpty: true }
  const given = {
    ...{ store, loop },
    spills: spilled,
    say: (one: FromThread) => said.push(one),
    now: () => 0,
  }
  return { desk: new RelayDesk(given as unknown as Desk), recovered: () => recovered, done, taken, said, loop }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('nothing is waived before all relays that live have said what they hold, and all that is left then', async () => {
  const { desk, recovered } = makeDesk()
  desk.obey({ kind: 'relayJoins', bootId: 'relay-1', now: 0, runs: { accounts: [], keys: [] } })
  desk.obey({ kind: 'relayGoes', boot: 1 })
  await turn()
  expect(recovered()).toBe(0)
  desk.obey({ kind: 'relaysKnown' })
  await turn()
  expect(recovered()).toBe(1)
  desk.obey({ kind: 'relayGoes', boot: 2 })
  await turn()
  expect(recovered()).toBe(2)
  desk.stop()
})

test('what a relay has kept is read before it joins, and taken away before its boot ends, from which on all that is its own is waived', async () => {
  const { desk, done } = makeDesk()
  desk.obey({ kind: 'relayJoins', bootId: 'relay-1', now: 0, runs: { accounts: [], keys: [] } })
  desk.obey({ kind: 'relayGoes', boot: 1 })
  await turn()
  expect(done).toEqual(['is read', 'joins', 'is taken away', 'leaves'])
  desk.stop()
})

test('what a relay has kept that never joined this thread is taken away once all that live have joined, and only then is it gone', async () => {
  const { desk, done, taken, said } = makeDesk()
  const gone = (): boolean => said.some(({ kind }) => kind === 'relayGone')
  desk.obey({ kind: 'relayGoes', boot: 5 })
  await turn()
  expect([done, gone()]).toEqual([[], false])
  desk.obey({ kind: 'relayJoins', bootId: 'relay-1', now: 0, runs: { accounts: [], keys: [] } })
  desk.obey({ kind: 'relaysKnown' })
  await until(gone, 'it is gone')
  expect(new Set(taken.map(String))).toEqual(new Set(['relay-5']))
  expect(done.at(-3)).toBe('is taken away')
  expect(done.at(-2)).toBe('leaves')
  desk.stop()
})

test('where what relays have kept cannot be written, none joins and nothing is waived', async () => {
  const { desk, recovered, said } = makeDesk('full')
  desk.obey({ kind: 'relayJoins', bootId: 'relay-1', now: 0, runs: { accounts: [], keys: [] } })
  desk.obey({ kind: 'relaysKnown' })
  await turn()
  expect(said).toEqual([{ kind: 'relayJoined', bootId: 'relay-1' }])
  expect(recovered()).toBe(0)
  desk.stop()
})

test('a relay leaves only when all its tasks are answered, and nothing is waived while the ledger’s own spill keeps an end', async () => {
  const { desk, recovered, done, loop } = makeDesk()
  Object.assign(loop, { isIdle: false, isSpillEmpty: false })
  desk.obey({ kind: 'relaysKnown' })
  desk.obey({ kind: 'relayGoes', boot: 1 })
  await turn()
  expect([done, recovered()]).toEqual([[], 0])
  loop.isIdle = true
  await until(() => done.includes('leaves'), 'it leaves')
  expect(recovered()).toBe(0)
  loop.isSpillEmpty = true
  await until(() => recovered() > 0, 'what it had in flight is waived')
  desk.stop()
})

/** Two relays of a file, of which the first has left. `endOf`: the end of a request of this relay, which costs 0.3 USD. */
function openWithGone() {
  const machine = openMachine(join(makeFolder(), 'ledger.db'))
  machine.ask(operateTask(createKey('key_1', { balanceUsd: '10' })))
  const { relays } = machine.ledger
  const joined = (bootId: string): number => relays?.join(bootId, NOW, { accounts: [], keys: [] }) ?? 0
  const [gone, living] = [joined('relay-1'), joined('relay-2')]
  const hold = (requestId: string): void => expect(machine.ask(holdTask(requestId, 'key_1', usd('0.5')))).toBe('held')
  const endOf = (requestId: string, boot: number): Task => {
    hold(requestId)
    const debit = machine.wallets.settle(settlement(requestId, { input: 100_000 }))
    if (debit === undefined) throw new Error('it is not held')
    return { kind: 'settle', debit: { ...debit, boot } }
  }
  relays?.leave(gone)
  return { machine, gone, living, hold, endOf }
}

test('an end of a relay that comes after the relay is gone is waived with an alarm, once, and that of one that lives is charged', () => {
  const { machine, gone, living, endOf } = openWithGone()
  const [late, own] = [endOf('req_1', gone), endOf('req_2', living)]
  // Its prices are told with it.
  machine.statesOf('key_1')
  const problem = 'req_1 was settled after its node had been fenced: 0.3 USD are waived'
  expect(machine.ledger.apply([late, own])).toMatchObject({ answers: ['already', 'settled'], faults: [{ kind: 'node', problem }] })
  expect(machine.ledger.apply([late])).toMatchObject({ answers: ['already'], faults: [] })
  const receipts = machine.db.query('SELECT request_id, cost_picos, waived_picos, outcome FROM receipts ORDER BY request_id').values()
  expect(receipts).toEqual([
    ['req_1', 0n, usd('0.3'), 'recovered'],
    ['req_2', usd('0.3'), 0n, 'complete'],
  ])
  expect(machine.statesOf('key_1')[0]?.balancePicos).toBe(usd('9.7'))
  expect(machine.differences()).toEqual([])
  machine.close()
})

test('a checkpoint of a relay that comes after the relay is gone leaves nothing in flight', () => {
  const { machine, gone, living, hold } = openWithGone()
  for (const requestId of ['req_1', 'req_2']) hold(requestId)
  const checkpoints = machine.wallets.due(Number.POSITIVE_INFINITY)
  machine.statesOf('key_1')
  const tasks = checkpoints.map(
    (checkpoint, index): Task => ({ kind: 'checkpoint', checkpoint: { ...checkpoint, boot: [gone, living][index] ?? 0 }, now: NOW }),
  )
  expect(machine.ledger.apply(tasks)).toMatchObject({ answers: ['checkpointed', 'checkpointed'] })
  expect(machine.db.query('SELECT request_id FROM marks').values()).toEqual([['req_2']])
  machine.close()
})
