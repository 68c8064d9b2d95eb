/**
 * Protects processes.md "Shared", keys.md "Client addresses", requests.md "Memory of bodies": what a client at an address, or an account, may do in a minute is the same over all relays as
 * in one process.
 */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { ClientLimits, type Counted } from '../../src/http/client-limit.ts'
import type { SharedLimits } from '../../src/ledger/shared-limits.ts'
import { BodyMemory } from '../../src/relay/body-memory.ts'
import { ACT, createKey, makeFolder } from '../support/ledger.ts'
import { openLedgerProcess, openTestRelay, type TestRelay } from '../support/relays.ts'
import { until } from '../support/until.ts'

const RELAYS = 3
/** The clock of the relays stands still, so that nothing that one of them took in advance expires while a busy machine lets it wait; that of the ledger process goes on. */
const now = (): number => 0

async function overRelays(run: (relays: readonly TestRelay[]) => Promise<void>): Promise<void> {
  const path = join(makeFolder(), 'ledger.db')
  const main = await openLedgerProcess(path)
  await main.ledger.operate(createKey('key_1', { balanceUsd: '10' }), ACT)
  const relays = await Promise.all(Array.from({ length: RELAYS }, () => openTestRelay(path)))
  await until(() => relays.every(({ ledger }) => ledger.mayAdmit()), 'all may admit')
  try {
    await run(relays)
  } finally {
    for (const { ledger } of [...relays, main]) await ledger.close()
  }
}

const clientsAt = (relays: readonly TestRelay[], dashboardPerMinute: number): readonly ClientLimits[] =>
  relays.map(({ shared }) => new ClientLimits({ limits: () => ({ ...LIMITS, dashboardPerMinute }), now, shared: shared.clientLimits }))

/** How many of so many, one after the other at one relay after the other, are not refused; and how many more of them than the burst flowing back may have let in. */
async function letIn(clients: readonly ClientLimits[], count: number, perMinute: number, ask: (client: ClientLimits) => Counted) {
  const beganMs = performance.now()
  let allowed = 0
  for (let turn = 0; turn < count; turn++) if ((await ask(clients[turn % clients.length] as ClientLimits)) === undefined) allowed++
  return { allowed, back: Math.ceil(((performance.now() - beganMs) * perMinute) / 60_000) }
}

test('the requests to the dashboard of one address are those of all relays together, and another address has its own', async () => {
  await overRelays(async (relays) => {
    const clients = clientsAt(relays, 12)
    const { allowed, back } = await letIn(clients, 60, 12, (client) => client.countDashboard('192.0.2.1'))
    expect(allowed).toBeWithin(12, 12 + back + 1)
    expect(await clients[0]?.countDashboard('192.0.2.2')).toBeUndefined()
    expect(await clients[0]?.countUnknownKey('192.0.2.1')).toBeUndefined()
  })
})

test('the unknown keys of one address are those of all relays together: a burst, and half of it a minute', async () => {
  await overRelays(async (relays) => {
    const { allowed, back } = await letIn(clientsAt(relays, 12), 400, 60, (client) => client.countUnknownKey('192.0.2.1'))
    expect(allowed).toBeWithin(120, 120 + back + 1)
  })
})

test('while the ledger process is away each relay lets in its part of what an address may do', async () => {
  await overRelays(async (relays) => {
    let isAway = false
    const clients = relays.map(({ shared }) => {
      const take: SharedLimits['take'] = async (ask) => (isAway ? 'unavailable' : ((await shared.clientLimits?.take(ask)) ?? 'unavailable'))
      return new ClientLimits({ limits: () => ({ ...LIMITS, dashboardPerMinute: 12 }), now, shared: { take } })
    })
    // One answer says how many relays there are.
    for (const client of clients) await client.countDashboard('192.0.2.1')
    isAway = true
    expect((await letIn(clients, 60, 12, (client) => client.countDashboard('192.0.2.2'))).allowed).toBe(12)
  })
})

test('the bytes of bodies that an account may send in a minute are those of all relays together, and are told without a question', async () => {
  await overRelays(async (relays) => {
    const perMinute = 1_000_000
    const memories = relays.map(
      ({ shared }) =>
        new BodyMemory({
          ...{ poolBytes: 512 * 1024 * 1024, limits: () => ({ bodyBytesPerMinute: perMinute }), keyBalanceOf: () => undefined, now },
          shared: shared.bytes,
        }),
    )
    const key = { id: 'key_1', accountId: 'acc_1' }
    const send = (at: number, bytes: number, of = key): Refusal | undefined => {
      const lease = (memories[at % RELAYS] as BodyMemory).lease(of)
      const refusal = lease.grow(bytes)
      lease.release()
      return refusal
    }
    /** What a relay has told is heard by all once each of them has an answer to a later question. */
    const heard = async (first: number): Promise<void> => {
      const ask = ({ shared }: TestRelay) => shared.claims?.isRunning({ keyId: 'key_1', headerHash: new Uint8Array(32) })
      await ask(relays[first % RELAYS] as TestRelay)
      await Promise.all(relays.map(ask))
    }
    const beganMs = performance.now()
    let allowed = 0
    for (let turn = 0; turn < 40; turn++) {
      if (send(turn, 100_000) === undefined) allowed++
      await heard(turn)
    }
    expect(allowed).toBeWithin(10, 10 + Math.ceil((performance.now() - beganMs) / 6_000) + 1)
    expect(memories.map((_, at) => send(at, 900_000))).toEqual(Array(RELAYS).fill(expect.any(Refusal)))
    expect(send(0, 900_000, { id: 'key_2', accountId: 'acc_2' })).toBeUndefined()
  })
})
