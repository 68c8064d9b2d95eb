/** Protects keys.md "Limits over nodes", "Client addresses": what relays take in advance of an address' limits costs it next to nothing of them. */

import { expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { ClientLimits } from '../../src/http/client-limit.ts'
import { RelayLimits } from '../../src/ledger/relays/shared-limits.ts'
import { drawFrom } from '../sim/draw.ts'
import { pass, VirtualTime } from '../sim/virtual-time.ts'
import { type Random, seeded } from '../support/seed.ts'

const MINUTES = 3
const ADDRESS = '192.0.2.1'
const PER_MINUTE = 120

/** How many requests of one address, each at a relay that is drawn, are let in. */
async function letInOver(relays: number, gapMs: number, random: Random): Promise<number> {
  const time = new VirtualTime()
  const now = (): number => performance.now()
  try {
    const hub = new RelayLimits(now)
    const clients = Array.from({ length: relays }, (_, boot) => {
      hub.join(boot, [])
      const limits = () => ({ ...LIMITS, dashboardPerMinute: PER_MINUTE })
      return new ClientLimits({ limits, now, shared: { take: async (ask) => hub.take(boot, ask) } })
    })
    let letIn = 0
    for (let atMs = 0; atMs < MINUTES * 60_000; atMs += gapMs) {
      if ((await drawFrom(random, clients).countDashboard(ADDRESS)) === undefined) letIn++
      await pass(time, gapMs)
    }
    return letIn
  } finally {
    time.restore()
  }
}

test(
  'of what an address may do in three minutes relays together let in all but a few per cent, however often it asks',
  seeded(async (random) => {
    // The burst, and what flows back meanwhile.
    const stated = PER_MINUTE + MINUTES * PER_MINUTE
    for (const relays of [2, 4])
      for (const gapMs of [5, 50, 100, 300]) {
        const letIn = await letInOver(relays, gapMs, random)
        expect(letIn).toBeWithin(Math.floor(stated * 0.96), stated + 1)
      }
  }),
)
