/** Protects processes.md "Death": the requests of a relay that lives, and has not come again yet, are not waived for another one that goes. */

import { expect, test } from 'bun:test'
import { RelayDesk } from '../../src/ledger/writing/relay-desk.ts'

type Desk = ConstructorParameters<typeof RelayDesk>[0]

/** `recovered`: how often what no living relay has in flight was waived. */
function makeDesk(): { desk: RelayDesk; recovered: () => number } {
  let recovered = 0
  const store = {
    relays: { join: () => 1, leave: () => undefined, setGranting: () => undefined },
    recover: () => {
      recovered++
      return 0
    },
  }
  const given = { store, loop: { isIdle: true, isSpillEmpty: true }, say: () => undefined, now: () => 0 }
  return { desk: new RelayDesk(given as unknown as Desk), recovered: () => recovered }
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
