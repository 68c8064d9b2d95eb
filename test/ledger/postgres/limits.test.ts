/** Protects keys.md "Limits over nodes": what nodes take of a minute and of places at once is never more than there is, whoever asks when, by Postgres' clock. */

import { expect } from 'bun:test'
import type { NodeIdentity } from '../../../src/ledger/nodes.ts'
import { PostgresLimits } from '../../../src/ledger/postgres/limits.ts'
import { Session } from '../../../src/ledger/postgres/session.ts'
import type { LimitGrant } from '../../../src/ledger/shared-limits.ts'
import { asking, freshLedger } from '../../support/nodes.ts'
import { PATIENT } from '../../support/patient.ts'
import { postgresTest } from '../../support/postgres.ts'

type Outside = ReturnType<typeof asking>

/** A node without a heartbeat, and its limits. */
async function makeNode(url: string, outside: Outside) {
  const bootId = crypto.randomUUID()
  const [row] = await outside.ask<{ lane: bigint; boot: bigint; epoch: bigint }>(
    "SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('n', $1, 1000000000)",
    [bootId],
  )
  const identity: NodeIdentity = { lane: Number(row?.lane), boot: Number(row?.boot), epoch: Number(row?.epoch), bootId }
  const session = new Session({ url, name: 'limits', limitMs: 5_000, connections: 3 })
  return { identity, session, limits: new PostgresLimits(session, () => identity, PATIENT) }
}

const ASK = { keyId: 'key_1', perMinute: 60, atOnce: 10 }

function granted(answer: LimitGrant | 'unavailable'): LimitGrant {
  if (answer === 'unavailable') throw new Error(answer)
  return answer
}

postgresTest('of a minute there are its requests once over all nodes, and then one each time one has come back', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const nodes = await Promise.all([1, 2, 3, 4].map(() => makeNode(url, outside)))
  const startedMs = performance.now()
  const asks = Array.from({ length: 60 }, (_, n) => nodes[n % 4]?.limits.take({ ...ASK, requests: 1 + (n % 4), places: 1 }))
  const answers = (await Promise.all(asks)).map((answer) => granted(answer ?? 'unavailable'))
  const taken = answers.reduce((sum, { requests }) => sum + requests, 0)
  expect(taken).toBeGreaterThanOrEqual(60)
  expect(taken).toBeLessThanOrEqual(60 + Math.ceil((performance.now() - startedMs) / 1_000))
  const waitMs = Math.max(...answers.map((answer) => answer.waitMs))
  expect(waitMs).toBeGreaterThan(0)
  expect(waitMs).toBeLessThanOrEqual(1_000)
  expect(new Set(answers.map((answer) => answer.nodes))).toEqual(new Set([4]))
  await outside.ask("UPDATE key_rates SET whole_at_us = whole_at_us - 2000000 WHERE key_id = 'key_1'")
  const later = granted((await nodes[0]?.limits.take({ ...ASK, requests: 60, places: 1 })) ?? 'unavailable')
  expect(later.requests).toBeGreaterThanOrEqual(2)
  expect(later.requests).toBeLessThanOrEqual(3)
  // A clock that was far ahead locks nobody out for longer than a minute.
  await outside.ask("UPDATE key_rates SET whole_at_us = 9000000000000000 WHERE key_id = 'key_1'")
  expect(granted((await nodes[0]?.limits.take({ ...ASK, requests: 1, places: 1 })) ?? 'unavailable').waitMs).toBeLessThanOrEqual(1_000)
  for (const { session } of nodes) session.close()
  await outside.close()
})

postgresTest(
  'places at once are never more than there are, whoever asks at the same moment, and those of a node that is gone are free',
  async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const nodes = await Promise.all([1, 2, 3, 4].map(() => makeNode(url, outside)))
    const take = async (node: number, places: number): Promise<number> =>
      granted((await nodes[node]?.limits.take({ ...ASK, requests: 0, places })) ?? 'unavailable').places
    const all = await Promise.all(nodes.map((_, node) => take(node, 4)))
    expect(all.reduce((sum, places) => sum + places, 0)).toBe(10)
    expect(await take(0, 0)).toBe(0)
    expect(await take(3, 10)).toBe(10 - (all[1] ?? 0) - (all[2] ?? 0))
    await outside.ask('UPDATE nodes SET lease_until = 1 WHERE lane = $1', [nodes[1]?.identity.lane])
    await outside.ask('SELECT fence_expired(0)')
    expect(await take(3, 10)).toBe(10 - (all[2] ?? 0))
    for (const { session } of nodes) session.close()
    await outside.close()
  },
)

postgresTest('a word about places that comes late, behind a newer one, changes nothing', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const node = await makeNode(url, outside)
  const { lane, boot } = node.identity
  const say = async (number: number, places: number): Promise<bigint | undefined> => {
    const [row] = await outside.ask<{ granted_places: bigint }>(
      "SELECT granted_places FROM take_limits($1, $2, $3, 'key_1', 0, $4, 60, 10)",
      [lane, boot, number, places],
    )
    return row?.granted_places
  }
  expect(await say(1, 2)).toBe(2n)
  expect(await say(3, 7)).toBe(7n)
  expect(await say(2, 1)).toBe(7n)
  node.session.close()
  await outside.close()
})

postgresTest('who may not write, or hears nothing, takes nothing', async () => {
  const url = await freshLedger()
  const session = new Session({ url: url.replace(/:\d+\//, ':1/'), name: 'limits', limitMs: 500 })
  const ask = { ...ASK, requests: 1, places: 1 }
  expect(await new PostgresLimits(session, () => undefined, PATIENT).take(ask)).toBe('unavailable')
  expect(await new PostgresLimits(session, () => ({ lane: 0, boot: 1, epoch: 1, bootId: 'b' }), PATIENT).take(ask)).toBe('unavailable')
  session.close()
})
