/**
 * Protects nodes.md "After a failover": the primary is killed and a standby takes its place. What clients and operators were told, kept outside, is in the rows of the new
 * server, once: also what an asynchronous standby had not got. What was written again is told with count and sum.
 */

import { afterEach, describe, expect } from 'bun:test'
import { join } from 'node:path'
import { statementFindings } from '../../../src/ledger/chain/against-statement.ts'
import type { Difference } from '../../../src/ledger/chain/difference.ts'
import { statementLines } from '../../../src/ledger/chain/statement.ts'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { differencesInDatabase } from '../../../src/ledger/postgres/verify.ts'
import { createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../../support/ledger.ts'
import { asking, throughPort } from '../../support/nodes.ts'
import { postgresTest } from '../../support/postgres.ts'
import { PLACE } from '../../support/postgres-cluster.ts'
import { connectPostgres, startSyncDriver } from '../../support/postgres-connection.ts'
import { type Postgres, startPostgres, startStandby } from '../../support/postgres-server.ts'
import { type TcpProxy, tcpProxyThread } from '../../support/tcp-proxy.ts'
import { startThread } from '../../support/threads.ts'
import { until } from '../../support/until.ts'

let ending: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

type Pair = Readonly<{ primary: Postgres; standby: Postgres; crossing: TcpProxy; url: string; database: string }>

/** A primary and its standby, and an address that leads to the primary until it is moved. */
async function startPair(): Promise<Pair> {
  const folder = (name: string): string => join(PLACE, `tollgate-failover-${process.pid}-${crypto.randomUUID().slice(0, 8)}-${name}`)
  const [first, second] = [folder('a'), folder('b')]
  const primary = await startPostgres(first)
  ending.push(() => primary.stop('immediate').catch(() => undefined))
  const own = await primary.createDatabase()
  const standby = await startStandby(primary, first, second)
  ending.push(() => standby.stop('immediate').catch(() => undefined))
  await until(async () => (await primary.ask('SELECT FROM pg_stat_replication')).length === 1, 'the standby follows')
  const crossing = await tcpProxyThread(primary.port)
  ending.push(() => crossing.close())
  return { primary, standby, crossing, url: throughPort(own, crossing.port), database: new URL(own).pathname.slice(1) }
}

/** From now on the standby gets nothing any more. */
async function holdBack({ primary, standby }: Pair): Promise<void> {
  await standby.ask("ALTER SYSTEM SET primary_conninfo = ''")
  await standby.ask('SELECT pg_reload_conf()')
  await until(async () => (await primary.ask('SELECT FROM pg_stat_replication')).length === 0, 'nothing is streamed')
}

async function failOver({ primary, standby, crossing }: Pair): Promise<void> {
  await primary.kill()
  await standby.promote()
  crossing.lead(standby.port)
}

async function openNode(url: string, name: string, leaseMs = 20_000) {
  const told: string[] = []
  const promises: string[] = []
  const opened = await openLedger({
    place: { kind: 'postgres', path: `${makeFolder()}/ledger.db`, url, node: name, leaseMs, statementKey: undefined, startSyncDriver },
    create: true,
    bootId: Bun.randomUUIDv7(),
    startThread,
    now: Date.now,
    spillBytes: 1024 * 1024,
    onPromise: ({ status, text }) => void promises.push(`${status}: ${text}`),
    onFault: ({ problem, kind, bug }) => void told.push(`${kind ?? 'fault'}: ${problem}${bug === undefined ? '' : String(bug)}`),
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger } = opened
  ending.push(() => ledger.close())
  return { ledger, told, promises }
}
type Node = Awaited<ReturnType<typeof openNode>>

/** What clients were told: ids of requests and what each costs. */
type Outside = Map<string, bigint>

async function charge({ ledger }: Node, outside: Outside, ids: readonly string[], keyId = 'key_1'): Promise<void> {
  await ledger.findKey(sha256(keyId))
  for (const id of ids) {
    const now = Date.now()
    await until(async () => (await ledger.hold(holdRequest(id, keyId, usd('0.5'), { now }))) === 'held', `${id} is held`)
    const headerHash = sha256(`header of ${id}`)
    const idempotency = { headerHash, bodyHash: sha256('body'), expiresAt: now + 3_600_000 }
    const settled = { ...settlement(id, { input: 1_000 + outside.size }, { now }), idempotency }
    if ((await ledger.settle(settled)) === 'settled') outside.set(id, settled.costPicos)
  }
}

const idsOf = (prefix: string, count: number): readonly string[] => Array.from({ length: count }, (_, n) => `${prefix}_${n}`)

type Receipt = Readonly<{ request_id: string; cost_picos: bigint; outcome: string }>

/** All that was told outside is there, once, at its price; and the ledger is in order. */
async function expectAll(url: string, outside: Outside): Promise<void> {
  const { ask, close } = asking(url)
  const receipts = await ask<Receipt>('SELECT request_id, cost_picos, outcome FROM receipts ORDER BY request_id')
  expect(new Map(receipts.map(({ request_id, cost_picos }) => [request_id, cost_picos]))).toEqual(outside)
  expect(receipts.filter(({ outcome }) => outcome !== 'complete')).toEqual([])
  const [{ count } = { count: 0n }] = await ask<{ count: bigint }>('SELECT count(*) AS count FROM idempotency')
  expect(count).toBe(BigInt(outside.size))
  expect(await ask('SELECT * FROM marks')).toEqual([])
  await close()
  const db = connectPostgres(url)
  expect(differencesInDatabase(db)).toEqual([])
  db.close()
}

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
      await until(async () => {
        const [row] = await pair.standby.ask<{ count: string }>('SELECT count(*) AS count FROM ledger.receipts', pair.database)
        return Number(row?.count) === 10
      }, 'the standby has them')
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

async function asked(url: string, text: string): Promise<readonly unknown[]> {
  const { ask, close } = asking(url)
  return await ask(text).finally(close)
}
