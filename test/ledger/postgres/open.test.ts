/** A database is made a ledger once, whoever comes at the same time; what is not sound, foreign or of another version is refused and stays as it is. */

import { expect, test } from 'bun:test'
import type { Access } from '../../../db/open.ts'
import { SCHEMA_VERSION } from '../../../db/postgres/migrations.ts'
import { openPostgres } from '../../../db/postgres/open.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'
import { until } from '../../support/until.ts'

const open = (db: Connection, access: Access = 'create') => openPostgres(db, 'Postgres here/test', access)

async function connections(): Promise<{ db: Connection; admin: Connection; url: string }> {
  const url = await postgres().createDatabase()
  return { url, db: connectPostgres(url), admin: connectPostgres(postgres().asSuperuser(url)) }
}
const close = (...dbs: readonly Connection[]) => {
  for (const db of dbs) db.close()
}

postgresTest('it is made where nothing is, once, and then opened by everyone', async () => {
  const { db, url } = await connections()
  const reader = connectPostgres(url, { access: 'read' })
  expect(open(reader, 'read')).toEqual({ problem: 'missing', message: 'there is no ledger at Postgres here/test' })
  expect(open(db, 'write')).toEqual({ problem: 'missing', message: 'there is no ledger at Postgres here/test' })
  expect(open(db)).toBeUndefined()
  const node = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'node'").get()?.value
  expect(node).toMatch(/^node_[0-9a-f]{16}$/)
  expect(db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'salt'").get()?.value).toMatch(/^[0-9a-f]{32}$/)
  expect([open(db), open(db, 'write'), open(reader, 'read')]).toEqual([undefined, undefined, undefined])
  expect(db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'node'").get()?.value).toBe(node)
  close(db, reader)
})

postgresTest('four that come at once make one ledger', async () => {
  const { url, db } = await connections()
  const workers = Array.from({ length: 4 }, () => new Worker(new URL('./opens.ts', import.meta.url)))
  const next = () =>
    workers.map((worker) => new Promise((resolve) => worker.addEventListener('message', ({ data }) => resolve(data), { once: true })))
  await Promise.all(next())
  const answers = next()
  for (const worker of workers) worker.postMessage(url)
  expect(await Promise.all(answers)).toEqual(['opened', 'opened', 'opened', 'opened'])
  expect(db.query<{ count: bigint }, []>("SELECT count(*) AS count FROM meta WHERE name = 'node'").get()).toEqual({ count: 1n })
  for (const worker of workers) worker.terminate()
  close(db)
})

postgresTest('foreign, newer and older ones are refused and left as they are', async () => {
  const { db } = await connections()
  db.run('CREATE SCHEMA ledger; CREATE TABLE ledger.meta (other TEXT); INSERT INTO ledger.meta VALUES (7)')
  for (const access of ['create', 'write', 'read'] as const) {
    expect(open(db, access)).toEqual({
      problem: 'corrupt',
      message: 'Postgres here/test: its schema "ledger" is not a Tollgate ledger; it was left as it is: name another database',
    })
  }
  db.run('DROP TABLE ledger.meta; CREATE TABLE ledger.invoices (n INT)')
  expect(open(db)).toMatchObject({ problem: 'corrupt' })
  expect(db.query<{ count: bigint }, []>("SELECT count(*) AS count FROM pg_tables WHERE schemaname = 'ledger'").get()).toEqual({
    count: 1n,
  })
  db.run('DROP TABLE ledger.invoices')
  expect(open(db)).toBeUndefined()
  db.run("UPDATE meta SET value = '99' WHERE name = 'schema'")
  expect(open(db)).toEqual({
    problem: 'newer',
    message: `Postgres here/test has schema version 99; this program knows ${SCHEMA_VERSION}: use a newer program`,
  })
  expect(db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'schema'").get()).toEqual({ value: '99' })
  db.run("UPDATE meta SET value = '1' WHERE name = 'schema'")
  expect(open(db, 'read')).toMatchObject({ problem: 'older' })
  close(db)
})

postgresTest('a server that would not keep what it promised, or takes no writes, is refused', async () => {
  const { db, url } = await connections()
  const name = new URL(url).pathname.slice(1)
  const admin: Connection = connectPostgres(postgres().asSuperuser(url))
  admin.run(`ALTER DATABASE ${name} SET synchronous_commit = off`)
  db.close()
  expect(open(db)).toEqual({
    problem: 'unwritable',
    message: 'Postgres here/test: synchronous_commit is off: what is charged could be lost when the server stops; turn it on',
  })
  admin.run(`ALTER DATABASE ${name} RESET synchronous_commit`)
  for (const setting of ['fsync', 'full_page_writes']) {
    admin.run(`ALTER SYSTEM SET ${setting} = off`)
    admin.run('SELECT pg_reload_conf()')
    await until(() => admin.query<{ now: string }, []>(`SELECT current_setting('${setting}') AS now`).get()?.now === 'off')
    expect(open(connectPostgres(url))).toMatchObject({ problem: 'unwritable', message: expect.stringContaining(`: ${setting} is off: `) })
    admin.run(`ALTER SYSTEM RESET ${setting}`)
    admin.run('SELECT pg_reload_conf()')
    await until(() => admin.query<{ now: string }, []>(`SELECT current_setting('${setting}') AS now`).get()?.now === 'on')
  }
  close(db, admin)
})

test('a server that is older than any that is tried is refused before anything else is asked, also to be read', () => {
  const query = () => ({ get: () => ({ version: 13n, encoding: 'UTF8', isStandby: 0n, fsync: 'on' }) })
  const old = { query, run: () => expect.unreachable(), transaction: () => expect.unreachable() } as unknown as Connection
  for (const access of ['create', 'write', 'read'] as const) {
    expect(open(old, access)).toEqual({
      problem: 'unwritable',
      message: 'Postgres here/test: it is Postgres 13; a ledger needs 14 or newer',
    })
  }
})

postgresTest('a role that may not make it, or not write it, is told so', async () => {
  const { db, admin, url } = await connections()
  admin.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO postgres`)
  expect(open(db)).toEqual({
    problem: 'unwritable',
    message: 'Postgres here/test: the role may not make the schema "ledger" or tables in it',
  })
  expect(open(admin)).toBeUndefined()
  admin.run('GRANT USAGE ON SCHEMA ledger TO tollgate; GRANT SELECT ON ALL TABLES IN SCHEMA ledger TO tollgate')
  expect(open(db, 'read')).toBeUndefined()
  expect(open(db)).toEqual({ problem: 'unwritable', message: 'Postgres here/test: the role may not write the table ledger.account_hours' })
  admin.run('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ledger TO tollgate')
  expect(open(db)).toBeUndefined()
  close(db, admin)
})
