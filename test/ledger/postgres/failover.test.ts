/**
 * Protects nodes.md "After a failover": the primary is killed and a standby takes its place. What clients and operators were told, kept outside, is in the rows of the new
 * server, once: also what an asynchronous standby had not got. What was written again is told with count and sum.
 */

import { afterEach, describe, expect } from 'bun:test'
import { statementFindings } from '../../../src/ledger/chain/against-statement.ts'
import type { Difference } from '../../../src/ledger/chain/difference.ts'
import { statementLines } from '../../../src/ledger/chain/statement.ts'
import { PROMISE_FACTS } from '../../../src/ledger/postgres/promise-watch.ts'
import {
  asked,
  charge,
  endAll,
  expectAll,
  failOver,
  holdBack,
  idsOf,
  type Outside,
  openNode,
  type Pair,
  startPair,
} from '../../support/failover.ts'
import { createKey, holdRequest, settlement, sha256, usd } from '../../support/ledger.ts'
import { asking } from '../../support/nodes.ts'
import { postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'
import { until } from '../../support/until.ts'

afterEach(endAll)

const sumOf = (outside: Outside, ids: readonly string[]): bigint => ids.reduce((sum, id) => sum + (outside.get(id) ?? 0n), 0n)

const auditOf = async (url: string) => {
  const { ask, close } = asking(url)
  const lines = await ask<{ target: string; after: string }>(
    "SELECT target, after FROM audit_log WHERE action = 'failover' ORDER BY target",
  )
  await close()
  return lines.map(({ target, after }) => ({
    target,
    ...(JSON.parse(after) as { requests: number; usd: string; acts: number; server: string }),
  }))
}

/** Until the standby has so many receipts. */
const untilCopied = ({ standby, database }: Pair, count: number): Promise<void> =>
  until(async () => {
    const [row] = await standby.ask<{ count: string }>('SELECT count(*) AS count FROM ledger.receipts', database)
    return Number(row?.count) === count
  }, 'the standby has them')

const isTold = ({ told }: Readonly<{ told: readonly string[] }>, text: string): Promise<void> =>
  until(() => told.some((one) => one.includes(text)), `it is told: ${text}`, 30_000)

describe('an asynchronous standby', () => {
  postgresTest(
    'that lacks the end: debits of two nodes, a top-up, a key made just then and its debits are written again once, with an audit line and an alarm',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const [a, b] = [await openNode(url, 'a'), await openNode(url, 'b')]
      const outside: Outside = new Map()
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await charge(a, outside, idsOf('kept_a', 5))
      await charge(b, outside, idsOf('kept_b', 5))
      await untilCopied(pair, 10)
      await holdBack(pair)
      const [lostA, lostB] = [idsOf('lost_a', 40), idsOf('lost_b', 30)]
      await charge(a, outside, lostA)
      await charge(b, outside, lostB)
      await a.ledger.operate(createKey('key_2', { balanceUsd: '7', now: Date.now() }))
      const record = await a.ledger.findKey(sha256('key_1'))
      if (typeof record !== 'object') throw new Error('no key')
      const topUp = {
        kind: 'credit',
        creditKind: 'top-up',
        accountId: record.accountId,
        creditId: 'credit_9',
        amountPicos: usd('5'),
        ref: 'r',
      } as const
      expect(await a.ledger.operate({ ...topUp, now: Date.now() })).toEqual({ result: 'done' })
      const lostOfNewKey = idsOf('lost_new', 3)
      await charge(b, outside, lostOfNewKey, 'key_2')
      const statement = statementOf(url, record.accountId)
      await failOver(pair)
      await until(() => a.told.concat(b.told).filter((text) => text.startsWith('failover')).length >= 2, 'both say it', 30_000)
      await until(async () => (await asked(url, 'SELECT FROM receipts')).length === outside.size, 'all is there', 30_000)
      await charge(a, outside, idsOf('after_a', 3))
      await charge(b, outside, idsOf('after_b', 3), 'key_2')
      await expectAll(url, outside)
      expect(await asked(url, 'SELECT id, balance_picos FROM accounts ORDER BY id')).toHaveLength(2)
      expect(await asked(url, "SELECT FROM credits WHERE id = 'credit_9'")).toHaveLength(1)
      const lines = await auditOf(url)
      expect(lines.map(({ requests }) => requests)).toEqual([40, 33])
      expect(lines.map(({ acts }) => acts)).toEqual([2, 0])
      const sums = [sumOf(outside, lostA), sumOf(outside, [...lostB, ...lostOfNewKey])]
      expect(lines.map(({ usd: sum }) => usd(sum))).toEqual(sums as never)
      const rewritten = against(url, statement)
      expect(rewritten.map(({ subject }) => subject).toSorted()).toEqual([...lostA, 'credit_9'].toSorted())
      expect(new Set(rewritten.map(({ rule }) => rule))).toEqual(new Set(['rewritten by a failover, in another place of the chain']))
      const forged = against(
        url,
        statement.map((line) => line.replace('"id":"lost_a_3"', '"id":"lost_a_99"')),
      )
      expect(forged.filter(({ rule }) => rule === 'the chain is what an earlier statement says').map(({ subject }) => subject)).toEqual([
        'lost_a_99',
      ])
      expect(lines[0]?.server).toEndWith(' timeline 2')
      expect(a.told.join('\n')).toContain('Postgres failed over, from ')
      expect(a.promises[0]).toStartWith('warning: 1 standby follows, and no commit waits: a failover loses the last moments; ')
      expect(a.told.join('\n')).toContain(
        `40 requests over ${lines[0]?.usd} USD and 2 acts that this node had acknowledged are missing and are written again`,
      )
    },
    180_000,
  )

  postgresTest(
    'that knows nothing of a node: its lane is another one then, and what it had acknowledged is charged all the same',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const a = await openNode(url, 'a')
      const outside: Outside = new Map()
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await charge(a, outside, idsOf('kept', 3))
      await untilCopied(pair, 3)
      await holdBack(pair)
      const b = await openNode(url, 'b')
      await charge(b, outside, idsOf('lost', 20))
      await failOver(pair)
      await isTold(b, 'this node was fenced')
      await isTold(b, '20 requests over ')
      await until(async () => (await asked(url, 'SELECT FROM receipts')).length === outside.size, 'all is there', 30_000)
      await charge(b, outside, idsOf('after', 3))
      await expectAll(url, outside)
    },
    180_000,
  )

  postgresTest(
    'that lost a key whose number is another’s now: the debits stay with the key that was charged',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const [a, b] = [await openNode(url, 'a'), await openNode(url, 'b')]
      const outside: Outside = new Map()
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await charge(a, outside, idsOf('kept', 3))
      await untilCopied(pair, 3)
      await holdBack(pair)
      await a.ledger.operate(createKey('key_2', { balanceUsd: '9', now: Date.now() }))
      await charge(b, outside, idsOf('lost', 5), 'key_2')
      const [{ number }] = (await asked(url, "SELECT number FROM keys WHERE id = 'key_2'")) as [{ number: bigint }]
      await pair.primary.kill()
      await pair.standby.promote()
      // Somebody is faster than the nodes.
      const outsider = asking(pair.standby.asSuperuser(url))
      await outsider.ask(
        `INSERT INTO ledger.accounts (number, id, name, created_at) OVERRIDING SYSTEM VALUE VALUES (${number}, 'acc_x', '', 0)`,
      )
      await outsider.ask(
        `INSERT INTO ledger.keys (number, id, account_number, name, plan, last_synced_at, created_at) OVERRIDING SYSTEM VALUE
         VALUES (${number}, 'key_x', ${number}, '', 'default', 0, 0)`,
      )
      await outsider.ask("SELECT setval('ledger.keys_number_seq', 50), setval('ledger.accounts_number_seq', 50)")
      await outsider.close()
      pair.crossing.lead(pair.standby.port)
      await isTold(b, '5 requests over ')
      await until(async () => (await asked(url, 'SELECT FROM receipts')).length === outside.size, 'all is there', 30_000)
      await expectAll(url, outside)
      const charged = 'SELECT keys.id, count(*) AS count FROM receipts JOIN keys ON keys.number = key_number GROUP BY 1 ORDER BY 1'
      expect(await asked(url, charged)).toEqual([
        { id: 'key_1', count: 3n },
        { id: 'key_2', count: 5n },
      ])
    },
    180_000,
  )

  postgresTest(
    'that shows holds of requests that have ended: they are gone, and a request that runs keeps its own',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const a = await openNode(url, 'a', { checkpointAfterMs: 20 })
      const outside: Outside = new Map()
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await charge(a, outside, ['first'])
      for (const id of ['ended', 'voided', 'runs']) await a.ledger.hold(holdRequest(id, 'key_1', usd('0.5'), { now: Date.now() }))
      const onStandby = async (): Promise<number> => (await pair.standby.ask('SELECT FROM ledger.marks', pair.database)).length
      await until(async () => (await onStandby()) === 3, 'the standby shows them')
      await holdBack(pair)
      const settled = settlement('ended', { input: 7 }, { now: Date.now() })
      const idempotency = { headerHash: sha256('ended'), bodyHash: sha256('body'), expiresAt: Date.now() + 3_600_000 }
      expect(await a.ledger.settle({ ...settled, idempotency })).toBe('settled')
      outside.set('ended', settled.costPicos)
      expect(a.ledger.void('voided')).toBe('voided')
      await until(async () => (await asked(url, 'SELECT FROM marks')).length === 1, 'the primary shows one')
      await failOver(pair)
      await isTold(a, '1 requests over ')
      await until(async () => (await asked(url, "SELECT FROM marks WHERE request_id <> 'runs'")).length === 0, 'they are gone')
      expect(a.ledger.holds().map(({ requestId }) => requestId)).toEqual(['runs'])
      await charge(a, outside, ['after'])
      a.ledger.void('runs')
      await until(async () => (await asked(url, 'SELECT FROM marks')).length === 0, 'none is left')
      await expectAll(url, outside)
    },
    180_000,
  )

  postgresTest(
    'and a node that died with its primary: that what it alone knew is lost is said by the one that takes its lane over',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const a = await openNode(url, 'a', { leaseMs: 4_000 })
      await asked(url, "SELECT register_node_3('dead', 'boot-dead', 3000, 4)")
      await until(
        async () => (await pair.standby.ask("SELECT FROM ledger.nodes WHERE name = 'dead'", pair.database)).length === 1,
        'it is known',
      )
      expect(a.told).toEqual([])
      await failOver(pair)
      await isTold(a, 'nothing is missing of what this node acknowledged')
      await isTold(a, 'a node was gone within a minute of the failover: what it alone had acknowledged just before')
    },
    180_000,
  )

  postgresTest(
    'after which a node starts that was not there: it says that what others knew is lost, once',
    async () => {
      const pair = await startPair()
      const { url } = pair
      const facts = () => ({ version: '1' })
      const a = await openNode(url, 'a', { facts })
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await a.ledger.close()
      await until(async () => {
        const [row] = await pair.standby.ask<{ count: string }>(
          "SELECT count(*) AS count FROM ledger.meta WHERE name = 'server'",
          pair.database,
        )
        return Number(row?.count) === 1
      }, 'the standby knows the server')
      await failOver(pair)
      const b = await openNode(url, 'b', { facts })
      expect(b.told.join('\n')).toContain('Postgres is not the server under which the ledger was last written')
      const c = await openNode(url, 'c', { facts })
      expect(c.told).toEqual([])
    },
    180_000,
  )
})

describe('a synchronous standby', () => {
  postgresTest(
    'has all that was acknowledged: nothing is written again, which is told, too',
    async () => {
      const pair = await startPair()
      const { url, primary } = pair
      await primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      await primary.ask('SELECT pg_reload_conf()')
      await until(
        async () => (await primary.ask("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 1,
        'it is synchronous',
      )
      const [shown] = await primary.ask<{ waitedFor: string }>(PROMISE_FACTS)
      expect(Number(shown?.waitedFor)).toBe(1)
      const a = await openNode(url, 'a')
      expect(a.promises).toEqual(['ok: 1 standby follows, and commits wait for standby: a failover to that one loses nothing'])
      const outside: Outside = new Map()
      await a.ledger.operate(createKey('key_1', { balanceUsd: '50', now: Date.now() }))
      await charge(a, outside, idsOf('before', 60))
      await failOver(pair)
      await until(() => a.told.some((text) => text.startsWith('failover')), 'it is told', 30_000)
      await charge(a, outside, idsOf('after', 5))
      await expectAll(url, outside)
      expect(a.told.join('\n')).toContain('nothing is missing of what this node acknowledged in the last minute')
      expect((await auditOf(url)).map(({ requests, acts }) => [requests, acts])).toEqual([[0, 0]])
    },
    180_000,
  )
})

const SIGNS_NOTHING = { publicKey: '', sign: () => '' }

/** Its lines, as the ledger of this moment gives them. */
function statementOf(url: string, accountId: string): readonly string[] {
  const db = connectPostgres(url)
  const lines = [...statementLines(db, accountId, {}, SIGNS_NOTHING, Date.now())]
  db.close()
  return lines
}

function against(url: string, statement: readonly string[]): readonly Difference[] {
  const db = connectPostgres(url)
  const found = statementFindings(db, () => statement.map((line) => Buffer.from(line)))
  db.close()
  return found
}
