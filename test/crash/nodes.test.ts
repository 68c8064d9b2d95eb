/**
 * Three gateways on one Postgres and one account, under load, while nodes are killed, stopped past their lease and cut off, and Postgres itself is killed: what a client
 * saw whole has its receipt, none has two, the upstream's books agree, and nobody spends more than the balance and one request. Rules: nodes.md "Fencing", "Take-over"; ledger.md "Leases".
 * `NODE_ROUNDS` sets how often.
 */

import type { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { maxPicos, ZERO } from '../../src/core/money.ts'
import { type ReceiptRow, receiptsIn } from '../support/gateway.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { connectPostgres } from '../support/postgres-connection.ts'
import { type Random, seeded } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { type Call, keepBooks } from './book-keeper.ts'
import { askNode, Cluster, LEASE_MS, type Node } from './cluster.ts'
import { ALL_WAYS, type Answer, type Way } from './load.ts'
import { callsWithout, expectOneStory } from './one-story.ts'
import { PROCESS_TIMEOUT_MS } from './process.ts'

const ROUNDS = Number(process.env['NODE_ROUNDS'] ?? 1)
const TROUBLES_A_ROUND = 3
const CLIENTS_A_NODE = 12
const NAMES = ['a', 'b', 'c']
/** Whose hold covers what the upstream says they used, as a hold of a real upstream does. */
const COVERED_WAYS: readonly Way[] = ['chat', 'chatStream', 'responses', 'responsesStream']

postgresTest(
  'whatever becomes of three nodes and of Postgres, clients, ledger and upstream tell one story',
  seeded(async (random) => {
    const books = keepBooks(({ isStream }) => Bun.sleep(random() * (isStream ? 500 : 20)))
    const url = await postgres().createDatabase()
    const cluster = await Cluster.make(url, books.url, NAMES)
    try {
      await cluster.start()
      const { id, key } = await cluster.first.createKey()
      for (let round = 0; round < ROUNDS; round++) {
        const firstCall = books.calls.length
        let isOver = false
        const clients = cluster.nodes.flatMap((node) =>
          Array.from({ length: CLIENTS_A_NODE }, () => askNode(node, key, ALL_WAYS, () => isOver)),
        )
        for (let trouble = 0; trouble < TROUBLES_A_ROUND; trouble++) {
          await Bun.sleep(300 + random() * 1_200)
          await makeTrouble(cluster, random)
        }
        await cluster.start()
        await Bun.sleep(LEASE_MS)
        isOver = true
        const seen = (await Promise.all(clients)).flat()
        await cluster.untilTakenOver(4 * LEASE_MS)
        await agree(cluster, url, seen, books.calls, firstCall, id)
      }
      for (const { gateway } of cluster.nodes) gateway?.signal('SIGTERM')
      for (const { gateway } of cluster.nodes) expect(await gateway?.exited).toEqual({ code: 0, signal: null })
      expect(await cluster.rows('SELECT * FROM leases WHERE amount_picos <> 0')).toEqual([])
      await cluster.first.verify()
    } finally {
      await cluster.remove()
      await books.stop()
    }
  }),
  (ROUNDS + 2) * 3 * PROCESS_TIMEOUT_MS,
)

async function makeTrouble(cluster: Cluster, random: Random): Promise<void> {
  const node = cluster.nodes[Math.floor(random() * cluster.nodes.length)]
  if (node === undefined) return
  switch (Math.floor(random() * 5)) {
    case 0:
      await cluster.kill(node)
      await Bun.sleep(random() * 1.5 * LEASE_MS)
      return await cluster.startNode(node)
    case 1:
      return await pause(node, (0.2 + random() * 1.5) * LEASE_MS)
    case 2:
      node.proxy.part()
      await Bun.sleep((0.2 + random() * 1.5) * LEASE_MS)
      return node.proxy.heal()
    case 3:
      node.proxy.part()
      return node.proxy.heal()
    default:
      if (random() < 0.5) await postgres().stop('immediate')
      else await postgres().kill()
      await Bun.sleep(random() * 500)
      return await postgres().start()
  }
}

function unbooked(rows: readonly ReceiptRow[], seen: readonly Answer[]): readonly string[] {
  const booked = new Set(rows.map(({ requestId }) => requestId))
  return seen.map(({ requestId }) => requestId).filter((requestId) => !booked.has(requestId))
}

async function pause({ gateway }: Node, ms: number): Promise<void> {
  gateway?.signal('SIGSTOP')
  await Bun.sleep(ms)
  gateway?.signal('SIGCONT')
}

/** Every call of the round whose answer nobody saw whole may be without a receipt, or have one that is waived. */
async function agree(
  cluster: Cluster,
  url: string,
  seen: readonly Answer[],
  calls: readonly Call[],
  firstCall: number,
  keyId: string,
): Promise<void> {
  expect(seen.length).toBeGreaterThan(NAMES.length * CLIENTS_A_NODE)
  // What was charged while a lock or an outage kept it out of Postgres is in a node's spill, which is replayed by itself.
  await until(
    () => unbooked(receiptsOf(url), seen).length === 0,
    () => `every answer has its receipt, but ${unbooked(receiptsOf(url), seen).join()}`,
  )
  const rows = receiptsOf(url)
  const lost = new Set([...calls.slice(0, firstCall), ...callsWithout(seen, calls.slice(firstCall))])
  expectOneStory(rows, seen, calls, lost, true)
  const cost = rows.reduce((sum, { costPicos }) => sum + costPicos, 0n)
  expect(await cluster.rows(`SELECT spent_picos AS spent FROM keys WHERE id = '${keyId}'`)).toEqual([{ spent: cost }])
  await cluster.first.verify()
}

postgresTest(
  'three nodes that hammer one account spend its balance and at most one request more',
  async () => {
    const books = keepBooks()
    const url = await postgres().createDatabase()
    const cluster = await Cluster.make(url, books.url, NAMES)
    try {
      await cluster.start()
      const { key } = await cluster.first.createKey('--balance', '1')
      const refusals = new Set<Node>()
      const clients = cluster.nodes.flatMap((node) =>
        Array.from({ length: CLIENTS_A_NODE }, () =>
          askNode(
            node,
            key,
            COVERED_WAYS,
            () => refusals.has(node),
            (words) => {
              if (words.includes('insufficient_balance')) refusals.add(node)
            },
          ),
        ),
      )
      await Promise.all(clients)
      const rows = receiptsOf(url)
      const [account] = await cluster.rows<{ balance: bigint }>('SELECT balance_picos AS balance FROM accounts')
      const dearest = rows.reduce((most, { costPicos }) => maxPicos(most, costPicos), ZERO)
      expect(account?.balance).toBeLessThanOrEqual(0n)
      expect(account?.balance).toBeGreaterThan(-dearest)
      await cluster.first.verify()
    } finally {
      await cluster.remove()
      await books.stop()
    }
  },
  4 * PROCESS_TIMEOUT_MS,
)

function receiptsOf(url: string): readonly ReceiptRow[] {
  const db = connectPostgres(url, { access: 'read' })
  try {
    return receiptsIn(db as unknown as Database)
  } finally {
    db.close()
  }
}
