/**
 * Protects ledger.md "Migrations" on Postgres: a ledger of every released program becomes one of this program while nodes of the old one go on, whatever kills the
 * process and however many begin at once; what living nodes would miss waits for them, by name.
 */

import { describe, expect } from 'bun:test'
import { join } from 'node:path'
import { findLedger, MIGRATIONS, SCHEMA_VERSION } from '../../../db/postgres/migrations.ts'
import { openPostgres } from '../../../db/postgres/open.ts'
import type { Migration } from '../../../src/core/migration.ts'
import { openForReading } from '../../../src/ledger/open-for-reading.ts'
import { catalogueOf } from '../../../src/ledger/postgres/catalogue.ts'
import type { Connectable } from '../../../src/ledger/postgres/connect.ts'
import { migrate } from '../../../src/ledger/postgres/migrate.ts'
import { openLedger } from '../../../src/ledger/postgres/open.ts'
import { openStore } from '../../../src/ledger/postgres/open-store.ts'
import { differencesInDatabase } from '../../../src/ledger/postgres/verify.ts'
import { ReadConnection } from '../../../src/ledger/reading/read-connection.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import type { MigrationNotice } from '../../../src/ledger/thread-messages.ts'
import { makeFolder, openMachine } from '../../support/ledger.ts'
import { settleMany } from '../../support/many-settles.ts'
import { makeNode } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger, startSyncDriver } from '../../support/postgres-connection.ts'
import { leftBy, RELEASES, releasedDatabase } from '../../support/released.ts'
import { startThread } from '../../support/threads.ts'
import { andThreeSteps } from '../../support/three-steps.ts'
import { until } from '../../support/until.ts'

const CHILD = join(import.meta.dir, '../../support/migrates.ts')
const [VERSION, SCHEMA] = RELEASES.at(-1) ?? ['', 0]
const THREE = andThreeSteps(MIGRATIONS)
const NEWEST = SCHEMA_VERSION + 3

const placeOf = (url: string): Connectable => ({
  kind: 'postgres',
  path: `${makeFolder()}/ledger.db`,
  url,
  node: 'n',
  leaseMs: 10_000,
  statementKey: undefined,
  startSyncDriver,
})

async function open(url: string, migrates = true) {
  const notices: MigrationNotice[] = []
  const opened = await openLedger({
    place: placeOf(url),
    create: true,
    bootId: Bun.randomUUIDv7(),
    startThread,
    now: Date.now,
    ...(migrates ? { onMigration: (one: MigrationNotice) => void notices.push(one) } : {}),
  })
  return { opened, notices }
}

/** With the migrations of a later program, and less patience. */
function migrateTo(url: string, migrations: readonly Migration[], lockedMsMax = 2_000) {
  const db = connectPostgres(url, { lockMs: 100 })
  const told: string[] = []
  try {
    return { problem: migrate(db, 'here', { tell: ({ notice }) => void told.push(notice), migrations, lockedMsMax }), told }
  } finally {
    db.close()
  }
}

function looking<T>(url: string, look: (db: Connection) => T): T {
  const db: Connection = connectPostgres(url)
  try {
    return look(db)
  } finally {
    db.close()
  }
}

const versionAt = (url: string): number => looking(url, (db) => Number((findLedger(db) as { version?: number }).version))
const FUNCTIONS =
  "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'ledger') ORDER BY 1"
const schemaOf = (url: string) => looking(url, (db) => ({ tables: [...catalogueOf(db)], functions: db.query(FUNCTIONS).values() }))
const costsAt = (url: string) => looking(url, (db) => db.query('SELECT request_id FROM costs ORDER BY 1').values().flat())
const TABLES = [
  'accounts',
  'keys',
  'credits',
  'receipts',
  'attempts',
  'codes',
  'usage_daily',
  'chain_heads',
  'audit_log',
  'marks',
  'idempotency',
]
type Columns = readonly (readonly [table: string, names: string])[]
const columnsOf = (url: string): Columns =>
  looking(url, (db) =>
    TABLES.map((table) => {
      const sql =
        'SELECT attname AS name FROM pg_attribute WHERE attrelid = CAST(? AS REGCLASS) AND attnum > 0 AND NOT attisdropped ORDER BY attnum'
      const columns = db.query<{ name: string }, [string]>(sql).all(table)
      return [table, columns.map(({ name }) => name).join()]
    }),
  )
/** Every row of these tables, by the columns that it had at its release: a migration may add others. */
const rowsOf = (url: string, columns: Columns): string =>
  looking(url, (db) =>
    columns.map(([table, names]) => db.query(`SELECT CAST(ROW(${names}) AS TEXT) FROM ${table} ORDER BY 1`).values().join('\n')).join('\n'),
  )

/** As a process of `schema` does. Its lease is long, unless `termMs` is given. */
const register = (url: string, name: string, schema: number, termMs = 1e9) =>
  looking(url, (db) => {
    const call = schema === 2 ? 'register_node(?, ?, ?)' : `register_node_3(?, ?, ?, ${schema})`
    const sql = `SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM ${call}`
    const own = db.query<Record<'lane' | 'boot' | 'epoch', bigint>, [string, string, number]>(sql).get(name, `boot-${name}`, termMs)
    if (own === null) throw new Error('not registered')
    return [own.lane, own.boot, own.epoch] as const
  })

describe.each(RELEASES)('a ledger of %s', (version, schema) => {
  postgresTest(
    'becomes one of this program at the start, and is as one that this program made',
    async () => {
      const url = await releasedDatabase(version)
      expect(versionAt(url)).toBe(schema)
      const { opened, notices } = await open(url)
      if ('problem' in opened) throw new Error(opened.message)
      await until(() => looking(url, (db) => db.query('SELECT * FROM marks').values().length === 0), 'what the killed node left is waived')
      await opened.ledger.close()
      expect(versionAt(url)).toBe(SCHEMA_VERSION)
      expect(schemaOf(url)).toEqual(schemaOf(await createPostgresLedger()))
      expect(looking(url, differencesInDatabase)).toEqual([])
      const costs = looking(url, (db) => db.query<{ id: string }, []>('SELECT request_id AS id FROM receipts').all())
      expect(costs.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(leftBy(version, 'postgres').receipts)))
      expect(notices.map((one) => one.notice)).toEqual([
        'the ledger is of an older version and is migrated; on Postgres no backup is made',
        ...MIGRATIONS.filter((step) => step.version > schema).map(() => 'a step of the migration begins'),
        'the ledger is migrated',
      ])
      const again = await open(url)
      if ('problem' in again.opened) throw new Error(again.opened.message)
      expect(again.notices).toEqual([])
      await again.opened.ledger.close()
    },
    60_000,
  )

  postgresTest('is refused with what to do by whoever does not migrate, and stays as it is', async () => {
    const url = await releasedDatabase(version)
    const { opened } = await open(url, false)
    expect(opened).toEqual({
      problem: 'unmigrated',
      message: expect.stringMatching(
        new RegExp(
          `^Postgres \\S+ has schema version ${schema}, of an older program; \`tollgate serve\` brings it to ${SCHEMA_VERSION} when it starts$`,
        ),
      ),
    })
    for (const access of ['read', 'write', 'create'] as const)
      expect(looking(url, (db) => openPostgres(db, 'here', access))).toMatchObject({ problem: 'unmigrated' })
    expect(versionAt(url)).toBe(schema)
  })

  postgresTest('is written on by nodes of the old program during and after it, also by those that register anew', async () => {
    const url = await releasedDatabase(version)
    const before = register(url, 'before', 2)
    expect(migrateTo(url, MIGRATIONS).problem).toBeUndefined()
    const asserted = looking(url, (db) => db.query<unknown, bigint[]>('SELECT assert_node(?, ?, ?)').values(...before).length)
    expect(asserted).toBe(1)
    // By `register_node` and `settle`, as that program calls them.
    const old = openMachine(url, 'boot-old', true)
    const keyId = looking(url, (db) => db.query<{ id: string }, []>("SELECT id FROM keys WHERE name = 'main'").get()?.id ?? '')
    settleMany(old, 20, keyId)
    old.close()
    const versions = looking(url, (db) =>
      db
        .query<{ id: string; version: bigint }, []>("SELECT id, schema_version AS version FROM boots WHERE id LIKE 'boot-%' ORDER BY id")
        .all(),
    )
    expect(versions.filter(({ id }) => id === 'boot-old' || id === 'boot-before').map(({ version: known }) => known)).toEqual([2n, 2n])
  })
})

postgresTest('a node says which version it knows when it registers', async () => {
  const url = await createPostgresLedger()
  const { node, close } = makeNode(url)
  const { boot } = await node.join()
  const known = looking(
    url,
    (db) => db.query<{ v: bigint }, [number]>('SELECT schema_version AS v FROM boots WHERE number = ?').get(boot)?.v,
  )
  expect(known).toBe(BigInt(SCHEMA_VERSION))
  await close()
})

const child = async (url: string, moment: number) => {
  const process_ = Bun.spawn([process.execPath, CHILD, url, `${moment}`], { stdout: 'pipe', stderr: 'pipe' })
  const [out, err] = await Promise.all([new Response(process_.stdout).text(), new Response(process_.stderr).text()])
  await process_.exited
  return { signal: process_.signalCode, code: process_.exitCode, moments: Number(out), err }
}

postgresTest(
  'killed at any moment, it goes on from there: no step is missing, and none is taken twice',
  async () => {
    const straight = await releasedDatabase(VERSION)
    const columns = columnsOf(straight)
    const before = rowsOf(straight, columns)
    const { moments, err } = await child(straight, 0)
    expect(err).toBe('')
    const [schema, costs] = [schemaOf(straight), costsAt(straight)]
    expect(costs.length).toBeGreaterThan(4)
    expect(moments).toBeGreaterThan(12)
    const reached = new Set<number>()
    for (let moment = 1; moment <= moments; moment++) {
      const url = await releasedDatabase(VERSION)
      expect([moment, (await child(url, moment)).signal]).toEqual([moment, 'SIGKILL'])
      reached.add(versionAt(url))
      expect([moment, migrateTo(url, THREE, 10_000).problem]).toEqual([moment, undefined])
      expect([moment, versionAt(url)]).toEqual([moment, NEWEST])
      expect([moment, schemaOf(url)]).toEqual([moment, schema])
      expect([moment, costsAt(url), rowsOf(url, columns)]).toEqual([moment, costs, before])
    }
    expect([...reached].sort((a, b) => a - b)).toEqual([
      SCHEMA,
      ...THREE.map(({ version }) => version).filter((version) => version > SCHEMA),
    ])
  },
  400_000,
)

postgresTest(
  'four that begin at once take each step once, and all find it done',
  async () => {
    const url = await releasedDatabase(VERSION)
    const all = await Promise.all([0, 0, 0, 0].map((moment) => child(url, moment)))
    expect(all.map(({ code, err }) => ({ code, err }))).toEqual(all.map(() => ({ code: 0, err: '' })))
    expect([versionAt(url), costsAt(url).length]).toEqual([NEWEST, Object.keys(leftBy(VERSION, 'postgres').receipts).length])
  },
  180_000,
)

describe('a step that takes something away', () => {
  const takesAway = [...MIGRATIONS, { version: SCHEMA_VERSION + 1, sql: 'DROP FUNCTION register_node(TEXT, TEXT, BIGINT);', nodesFrom: 3 }]

  postgresTest('waits for every living node that knows less, names them, and is taken when they are gone', async () => {
    const url = await createPostgresLedger()
    const [a, b] = [register(url, 'a', 2), register(url, 'b', 2)]
    register(url, 'new', 3)
    const refused = (...names: readonly string[]) => ({
      problem: 'unwritable',
      message: `here cannot be migrated to schema version ${SCHEMA_VERSION + 1}: it takes away what nodes of an older program need: stop ${names.join(', ')} first; it stays at ${SCHEMA_VERSION}`,
    })
    expect(migrateTo(url, takesAway).problem).toEqual(refused('a (lane 0)', 'b (lane 1)') as never)
    looking(url, (db) => db.query<unknown, bigint[]>('SELECT leave_node(?, ?, ?)').values(...a))
    expect(migrateTo(url, takesAway).problem).toEqual(refused('b (lane 1)') as never)
    // One whose lease is over is no node any more, whether somebody took it over or not.
    looking(url, (db) => db.run(`UPDATE nodes SET lease_until = 1 WHERE lane = ${b[0]}`))
    expect(migrateTo(url, takesAway).problem).toBeUndefined()
    expect(versionAt(url)).toBe(SCHEMA_VERSION + 1)
    expect(() => register(url, 'late', 2)).toThrow('register_node')
  })

  postgresTest('is not told of as absent by verify afterwards', async () => {
    const url = await createPostgresLedger()
    expect(looking(url, differencesInDatabase)).toEqual([])
    looking(url, (db) => db.run('DROP FUNCTION register_node(TEXT, TEXT, BIGINT)'))
    expect(looking(url, differencesInDatabase)).toMatchObject([{ subject: 'function register_node', stored: 'absent' }])
  })
})

postgresTest('tables that somebody keeps locked are waited for a while, in the way of nobody, and then named', async () => {
  const url = await releasedDatabase(VERSION)
  const holder = connectPostgres(url)
  holder.run('BEGIN; LOCK TABLE boots IN ACCESS SHARE MODE')
  const { problem } = migrateTo(url, MIGRATIONS, 1_000)
  expect(problem).toEqual({
    problem: 'unwritable',
    message: `here cannot be migrated to schema version ${SCHEMA + 1}: another session keeps its tables locked; it stays at ${SCHEMA}`,
  })
  holder.run('COMMIT')
  holder.close()
  expect(migrateTo(url, MIGRATIONS).problem).toBeUndefined()
})

postgresTest('a role that does not own the tables is told what it may not', async () => {
  const url = await releasedDatabase(VERSION)
  looking(postgres().asSuperuser(url), (db) => db.run('ALTER TABLE ledger.boots OWNER TO postgres; GRANT ALL ON ledger.boots TO tollgate'))
  const { problem } = migrateTo(url, MIGRATIONS)
  expect(problem?.message).toBe(
    `here cannot be migrated to schema version ${SCHEMA + 1}: 42501 must be owner of table boots; it stays at ${SCHEMA}`,
  )
})

postgresTest('a newer ledger is opened by the threads of a node that lives, and by nobody else', async () => {
  const url = await createPostgresLedger()
  const { node, close } = makeNode(url)
  const identity = await node.join()
  expect(migrateTo(url, THREE).problem).toBeUndefined()
  const newer = {
    problem: 'newer',
    message: `here has schema version ${NEWEST}; this program knows ${SCHEMA_VERSION}: use a newer program`,
  }
  for (const access of ['read', 'write', 'create'] as const)
    expect(looking(url, (db) => openPostgres(db, 'here', access)) as unknown).toEqual(newer)
  expect((await open(url)).opened).toMatchObject({ problem: 'newer' })
  const place = placeOf(url)
  expect(openForReading(place)).toMatchObject({ problem: 'newer' })
  // Those that begin anew where one died: the thread that writes, and the one that reads for pages.
  const faults: unknown[] = []
  const reads = new ReadConnection(
    (at) => openForReading({ ...at, startSyncDriver }, true),
    (fault) => faults.push(fault),
  )
  expect([reads.answer(place, { kind: 'accounts', search: '', limit: 1 }) === 'unavailable', faults]).toEqual([false, []])
  reads.close()
  const opened = openStore({ ...place, identity, spills: { own: place.path, left: [] } })
  if ('problem' in opened) throw new Error(opened.message)
  opened.store.close()
  await close()
})
