/** Protects processes.md "Death": the requests of a relay that lives, and has not come again yet, are not waived for another one that goes. */

import { expect, test } from 'bun:test'
import type { FromThread } from '../../src/ledger/thread-messages.ts'
import { RelayDesk } from '../../src/ledger/writing/relay-desk.ts'
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
