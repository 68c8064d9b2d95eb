/** A ledger on a server that a test takes away, and what clients and operators were told of it, kept outside. */

import { expect } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LedgerOptions } from '../../src/ledger/open-options.ts'
import { openLedger } from '../../src/ledger/postgres/open.ts'
import { differencesInDatabase } from '../../src/ledger/postgres/verify.ts'
import { holdRequest, makeFolder, settlement, sha256, usd } from './ledger.ts'
import { asking, throughPort } from './nodes.ts'
import { PLACE } from './postgres-cluster.ts'
import { connectPostgres, startSyncDriver } from './postgres-connection.ts'
import { type Postgres, startPostgres, startStandby } from './postgres-server.ts'
import { type TcpProxy, tcpProxyThread } from './tcp-proxy.ts'
import { startThread } from './threads.ts'
import { until } from './until.ts'

let ending: (() => Promise<unknown> | unknown)[] = []
export const atEnd = (end: () => Promise<unknown> | unknown): void => void ending.push(end)

/** After each test: what was begun last ends first. */
export async function endAll(): Promise<void> {
  for (const end of ending.reverse()) await end()
  ending = []
}

/** For a server, or for its archive; it goes away when what is in it has ended. */
export function serverFolder(): string {
  const folder = join(PLACE, `tollgate-failover-${process.pid}-${crypto.randomUUID().slice(0, 8)}`)
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export type Pair = Readonly<{ primary: Postgres; standby: Postgres; crossing: TcpProxy; url: string; database: string }>

/** A primary and its standby, and an address that leads to the primary until it is moved. */
export async function startPair(): Promise<Pair> {
  const [first, second] = [serverFolder(), serverFolder()]
  const primary = await startPostgres(first)
  atEnd(() => primary.stop('immediate').catch(() => undefined))
  const own = await primary.createDatabase()
  const standby = await startStandby(primary, first, second)
  atEnd(() => standby.stop('immediate').catch(() => undefined))
  await until(async () => (await primary.ask('SELECT FROM pg_stat_replication')).length === 1, 'the standby follows')
  const crossing = await tcpProxyThread(primary.port)
  atEnd(() => crossing.close())
  return { primary, standby, crossing, url: throughPort(own, crossing.port), database: new URL(own).pathname.slice(1) }
}

/** From now on the standby gets nothing any more. */
export async function holdBack({ primary, standby }: Pair): Promise<void> {
  await standby.ask("ALTER SYSTEM SET primary_conninfo = ''")
  await standby.ask('SELECT pg_reload_conf()')
  await until(async () => (await primary.ask('SELECT FROM pg_stat_replication')).length === 0, 'nothing is streamed')
}

export async function failOver({ primary, standby, crossing }: Pair): Promise<void> {
  await primary.kill()
  await standby.promote()
  crossing.lead(standby.port)
}

export async function openNode(url: string, name: string, options: Partial<LedgerOptions> & Readonly<{ leaseMs?: number }> = {}) {
  const { leaseMs = 20_000, ...more } = options
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
    ...more,
  })
  if ('problem' in opened) throw new Error(opened.message)
  const { ledger } = opened
  atEnd(() => ledger.close())
  return { ledger, told, promises }
}
type Node = Awaited<ReturnType<typeof openNode>>

/** What clients were told: ids of requests and what each costs. */
export type Outside = Map<string, bigint>

export async function charge({ ledger }: Node, outside: Outside, ids: readonly string[], keyId = 'key_1'): Promise<void> {
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

export const idsOf = (prefix: string, count: number): readonly string[] => Array.from({ length: count }, (_, n) => `${prefix}_${n}`)

type Receipt = Readonly<{ request_id: string; cost_picos: bigint; outcome: string }>

/** All that was told outside is there, once, at its price; and the ledger is in order. */
export async function expectAll(url: string, outside: Outside): Promise<void> {
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

export async function asked(url: string, text: string): Promise<readonly unknown[]> {
  const { ask, close } = asking(url)
  return await ask(text).finally(close)
}
