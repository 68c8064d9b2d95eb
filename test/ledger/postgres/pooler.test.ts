/** Protects nodes.md "Poolers": a ledger behind a pooler that gives each connection a session works; one that lends its connections is refused before anything is made. */

import { afterEach, expect } from 'bun:test'
import { type AddressInfo, connect, createServer } from 'node:net'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { Place } from '../../crash/process.ts'
import { MESSAGE } from '../../support/answered-gateway.ts'
import { nativeMessage, startFakeUpstream } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway } from '../../support/gateway.ts'
import { makeFolder } from '../../support/ledger.ts'
import { asking, throughPort } from '../../support/nodes.ts'
import { isPgBouncerHere, startPgBouncer } from '../../support/pgbouncer.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { createPostgresLedger, startSyncDriver } from '../../support/postgres-connection.ts'
import { startThread } from '../../support/threads.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** What it passes on as it is (https://www.pgbouncer.org/config.html#ignore_startup_parameters). */
const TAKEN = new Set(['user', 'database', 'application_name', 'client_encoding', 'datestyle', 'timezone', 'standard_conforming_strings'])

/** A gateway whose every part asks its database once. */
async function useAll(url: string): Promise<void> {
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
  ends.push(() => upstream.stop())
  await using gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url } })
  const secret = await gateway.createKey()
  const body = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': 'k' }
  for (const _ of ['asked', 'and answered again']) expect((await gateway.post('/v1/messages', secret, body, { headers })).status).toBe(200)
  expect(await gateway.world.reports.ask('a key', { kind: 'key', keyId: 'key_0' })).toBeUndefined()
  await gateway.people().memberships.list()
}

postgresTest(
  'no connection begins with more than a pooler takes',
  async () => {
    const begun: Buffer[] = []
    const server = createServer((client) => {
      const target = connect(postgres().port, '127.0.0.1')
      client.once('data', (bytes) => begun.push(Buffer.from(bytes)))
      client.pipe(target).pipe(client)
      for (const socket of [client, target]) socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const place = new Place(undefined, { LEDGER_URL: throughPort(await createPostgresLedger(), port) })
    place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n[operator]\nport = 0\n')
    ends.push(
      () => server.close(),
      () => place.remove(),
    )
    const { key } = await place.createKey()
    const gateway = await place.serve()
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'k' }
    const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] })
    for (const [path, init] of [
      ['/v1/messages', { method: 'POST', body }],
      ['/v1/dashboard/key', {}],
    ] as const)
      expect((await fetch(`${gateway.url}${path}`, { headers, ...init })).status).toBe(200)
    // Length and version are eight bytes; then names and values, each with a zero behind it.
    const names = begun.flatMap((bytes) =>
      bytes
        .subarray(8)
        .toString()
        .split('\0')
        .filter((text, index) => index % 2 === 0 && text !== ''),
    )
    const what = begun.map((bytes) => /tollgate \S+ (\w+)/.exec(bytes.toString())?.[1])
    expect(new Set(what)).toEqual(new Set(['answers', 'limits', 'listens', 'looks', 'node', 'opens', 'people', 'reads', 'writes']))
    expect([...new Set(names.map((name) => name.toLowerCase()))].filter((name) => !TAKEN.has(name))).toEqual([])
  },
  180_000,
)

const pgBouncerTest = isPgBouncerHere ? postgresTest : postgresTest.skip

pgBouncerTest('behind PgBouncer in session mode a gateway does all that it does', async () => {
  const pooler = await startPgBouncer(await createPostgresLedger(), 'session')
  ends.push(() => pooler.stop())
  await useAll(pooler.url)
})

pgBouncerTest('PgBouncer in transaction mode is refused with what to do, and nothing is made', async () => {
  const url = await postgres().createDatabase()
  const pooler = await startPgBouncer(url, 'transaction')
  ends.push(() => pooler.stop())
  const place = { path: `${makeFolder()}/ledger.db`, url: pooler.url, node: 'n', leaseMs: 10_000, statementKey: undefined, startSyncDriver }
  const opened = await openLedger({
    place: { kind: 'postgres', ...place },
    create: true,
    bootId: Bun.randomUUIDv7(),
    startThread,
    now: Date.now,
  })
  expect(opened).toMatchObject({ problem: 'unwritable', message: expect.stringContaining('set pool_mode of PgBouncer to session') })
  const outside = asking(url)
  expect(await outside.ask("SELECT FROM pg_namespace WHERE nspname = 'ledger'")).toEqual([])
  await outside.close()
})
