/**
 * Protects ledger.md "Migrations" for a file: a ledger of every released program becomes one of this program, with a copy of it as it was, whatever kills the process
 * and however often; where it cannot, it stays as it was.
 */

import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { connect } from '../../db/connection.ts'
import { MIGRATIONS, SCHEMA_VERSION } from '../../db/migrations.ts'
import { makeDatabase, openDatabase, schemaVersionOf } from '../../db/open.ts'
import type { DatabaseProblem } from '../../db/problem.ts'
import type { Migration } from '../../src/core/migration.ts'
import { openReport } from '../../src/ledger/report.ts'
import { restoreLedger } from '../../src/ledger/restore.ts'
import { migrateFile } from '../../src/ledger/sqlite/migrate.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import type { MigrationNotice } from '../../src/ledger/thread-messages.ts'
import { makePath, NOW } from '../support/ledger.ts'
import { RELEASES, releasedFile } from '../support/released.ts'
import { startThread } from '../support/threads.ts'
import { andThreeSteps } from '../support/three-steps.ts'

const CHILD = join(import.meta.dir, '../support/migrates.ts')
const [VERSION, SCHEMA] = RELEASES.at(-1) ?? ['', 0]
const THREE = andThreeSteps(MIGRATIONS)
const NEWEST = SCHEMA_VERSION + 3

/** As `serve` opens it; `tells`: as a command does, which migrates nothing. */
async function open(path: string, tells = true) {
  const notices: MigrationNotice[] = []
  const onMigration = tells ? { onMigration: (one: MigrationNotice) => void notices.push(one) } : {}
  const opened = await openLedger({ path, create: false, bootId: 'boot-new', startThread, now: () => NOW, ...onMigration })
  return { opened, notices }
}

/** With the migrations of a later program. */
function migrateTo(path: string, migrations: readonly Migration[], freeBytes = Number.POSITIVE_INFINITY) {
  const db = connect(path, { readwrite: true })
  db.run('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const told: string[] = []
  try {
    const tell = ({ notice }: MigrationNotice): void => void told.push(notice)
    return { problem: migrateFile(db, path, { tell, now: NOW, migrations, freeBytesAt: () => freeBytes }), told }
  } finally {
    db.close()
  }
}

const look = <T>(path: string, read: (db: Database) => T): T => {
  const db = new Database(path, { readonly: true, safeIntegers: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
const schemaOf = (path: string) => look(path, (db) => db.query('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all())
const versionAt = (path: string): number => look(path, schemaVersionOf)
type Columns = readonly (readonly [table: string, names: string])[]
/** The columns of every table, but those of what a start or the three steps add. */
const columnsOf = (path: string): Columns =>
  look(path, (db) =>
    db
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('costs', 'boots') ORDER BY name")
      .all()
      .map(({ name }) => {
        const columns = db.query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)').all(name)
        return [name, columns.map((column) => `"${column.name}"`).join()]
      }),
  )
/** Every row, by the columns that it had at its release: a migration may add others. */
/** All rows but the marks that the hours of version 5 and those of version 7 leave beside older ones. */
const rowsOf = (path: string, columns: Columns): string =>
  look(path, (db) => {
    const textOf = (table: string, names: string): string => {
      const rows = db.query(`SELECT ${names} FROM "${table}"`).values()
      return `${table} ${rows.filter(([name]) => name !== 'hours_from' && name !== 'summed').join('\n')}`
    }
    return columns.map(([table, names]) => textOf(table, names)).join('\n')
  })
const beside = (path: string): readonly string[] => readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.before`))
const problemIn = ({ problem, message }: DatabaseProblem | { problem: undefined; message: '' }) => [problem, message]

describe.each(RELEASES)('a ledger of %s', (version, schema) => {
  test('becomes one of this program at the start, and is as one that this program made', async () => {
    const path = releasedFile(version)
    const columns = columnsOf(path)
    const before = rowsOf(path, columns)
    const { opened, notices } = await open(path)
    if ('problem' in opened) throw new Error(opened.message)
    // What a killed gateway had in flight.
    expect(opened.recovered).toBe(1)
    await opened.ledger.close()
    const fresh = makePath()
    expect(makeDatabase(fresh)).toBeUndefined()
    expect(schemaOf(path)).toEqual(schemaOf(fresh))
    expect(versionAt(path)).toBe(SCHEMA_VERSION)
    const report = openReport({ kind: 'sqlite', path })
    if ('problem' in report) throw new Error(report.message)
    expect(report.verify()).toEqual([])
    report.close()
    const backup = `${path}.before-${SCHEMA_VERSION}`
    expect([versionAt(backup), rowsOf(backup, columns), statSync(backup).mode & 0o777]).toEqual([schema, before, 0o600])
    expect(notices.map((one) => one.notice)).toEqual([
      'the ledger is of an older version and is migrated',
      'the ledger is backed up first',
      ...MIGRATIONS.filter((step) => step.version > schema).map(() => 'a step of the migration begins'),
      'the ledger is migrated; its backup may be removed once you do not want to go back',
    ])
    expect(notices[0]?.fields).toEqual({ ledger: path, from: schema, to: SCHEMA_VERSION })
    expect(notices.at(-1)?.fields).toMatchObject({ backup, version: SCHEMA_VERSION })
    const again = await open(path)
    if ('problem' in again.opened) throw new Error(again.opened.message)
    expect(again.notices).toEqual([])
    await again.opened.ledger.close()
  })

  test('is refused with what to do by whoever does not migrate, for reading and writing, and stays as it is', async () => {
    const path = releasedFile(version)
    const before = readFileSync(path)
    const message = `${path} has schema version ${schema}, of an older program; \`tollgate serve\` brings it to ${SCHEMA_VERSION} when it starts`
    expect((await open(path, false)).opened).toEqual({ problem: 'unmigrated', message })
    expect(openReport({ kind: 'sqlite', path })).toEqual({ problem: 'unmigrated', message })
    expect(readFileSync(path).equals(before)).toBeTrue()
    expect(beside(path)).toEqual([])
  })

  test('is restored as one of this program, and the copy that it comes from stays as it is', () => {
    const copy = releasedFile(version)
    const before = readFileSync(copy)
    const columns = columnsOf(copy)
    const path = join(dirname(copy), 'restored.db')
    expect(restoreLedger(path, copy, NOW)).toEqual({ path, setAside: [] })
    expect([versionAt(path), rowsOf(path, columns)]).toEqual([SCHEMA_VERSION, rowsOf(copy, columns)])
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith('restored.db'))).toEqual(['restored.db'])
    expect(readFileSync(copy).equals(before)).toBeTrue()
  })
})

test('killed at any moment, it goes on from there: no step is missing, none is taken twice, and the backup is of before all', async () => {
  const kill = async (path: string, moment: number) => {
    const child = Bun.spawn([process.execPath, CHILD, path, `${moment}`], { stdout: 'pipe', stderr: 'inherit' })
    const out = await new Response(child.stdout).text()
    await child.exited
    return { signal: child.signalCode, moments: Number(out) }
  }
  const straight = releasedFile(VERSION)
  const columns = columnsOf(straight)
  const before = rowsOf(straight, columns)
  const { moments } = await kill(straight, 0)
  const [schema, costs] = [schemaOf(straight), look(straight, (db) => db.query('SELECT * FROM costs').values())]
  expect(costs.length).toBeGreaterThan(4)
  expect(moments).toBeGreaterThan(12)
  const reached = new Set<number>()
  for (let moment = 1; moment <= moments; moment++) {
    const path = releasedFile(VERSION)
    expect([moment, (await kill(path, moment)).signal]).toEqual([moment, 'SIGKILL'])
    reached.add(versionAt(path))
    const { problem } = migrateTo(path, THREE)
    expect([moment, problem]).toEqual([moment, undefined])
    expect([moment, versionAt(path)]).toEqual([moment, NEWEST])
    expect([moment, schemaOf(path)]).toEqual([moment, schema])
    expect([moment, look(path, (db) => db.query('SELECT * FROM costs').values())]).toEqual([moment, costs])
    expect([moment, rowsOf(path, columns)]).toEqual([moment, before])
    expect([moment, beside(path)]).toEqual([moment, [`${basename(path)}.before-${NEWEST}`]])
    const backup = `${path}.before-${NEWEST}`
    expect([moment, versionAt(backup), rowsOf(backup, columns)]).toEqual([moment, SCHEMA, before])
  }
  // It was killed between any two steps.
  expect([...reached].sort((a, b) => a - b)).toEqual([SCHEMA, ...THREE.map(({ version }) => version).filter((version) => version > SCHEMA)])
}, 300_000)

test('a step that fails leaves the ledger at the version before it, and the next start begins there', () => {
  const path = releasedFile(VERSION)
  const broken = THREE.map((step) => (step.version === NEWEST - 1 ? { ...step, sql: `${step.sql} INSERT INTO nowhere VALUES (1);` } : step))
  const { problem, told } = migrateTo(path, broken)
  expect(problem).toEqual({
    problem: 'unwritable',
    message: `${path} cannot be migrated to schema version ${NEWEST - 1} (SQLITE_ERROR no such table: nowhere); it stays at ${NEWEST - 2}; ${path}.before-${NEWEST} holds it as it was`,
  })
  expect(told.at(-1)).toBe('a step of the migration begins')
  expect([versionAt(path), look(path, (db) => db.query('SELECT * FROM costs').values())]).toEqual([NEWEST - 2, []])
  const again = migrateTo(path, THREE)
  expect(again.problem).toBeUndefined()
  expect(again.told).toContain('the backup of an earlier attempt is whole')
  expect(versionAt(path)).toBe(NEWEST)
})

test('without room for the backup and for a step that writes all of it anew nothing is begun', () => {
  const path = releasedFile(VERSION)
  const before = readFileSync(path)
  const spare = 64 * 1024 * 1024
  const { problem } = migrateTo(path, THREE, 2 * before.length + spare - 1)
  expect(problem).toEqual({
    problem: 'unwritable',
    message: `${path} is not migrated: its backup and the migration need 65 MiB beside it, and 64 MiB are free; nothing was changed`,
  })
  expect([versionAt(path), beside(path)]).toEqual([SCHEMA, []])
  expect(migrateTo(path, THREE, 2 * before.length + spare).problem).toBeUndefined()
  // A backup that is there takes no room any more.
  const second = releasedFile(VERSION)
  copyFileSync(second, `${second}.before-${NEWEST}`)
  expect(migrateTo(second, THREE, before.length + spare).problem).toBeUndefined()
})

test('a backup that cannot be made is named, and nothing is begun', () => {
  const path = releasedFile(VERSION)
  const backup = `${path}.before-${NEWEST}`
  // A folder is there under the name of the unfinished copy.
  rmSync(`${backup}.new`, { force: true })
  Bun.spawnSync(['mkdir', '-p', `${backup}.new/x`])
  const { problem } = migrateTo(path, THREE)
  expect(problemIn(problem ?? { problem: undefined, message: '' })).toEqual([
    'unwritable',
    expect.stringContaining(`${path} is not migrated, because it cannot be backed up: ${backup} `),
  ])
  expect(versionAt(path)).toBe(SCHEMA)
})

test('the log of a step is in the file before the next one begins, so that it takes the room of one', () => {
  const path = releasedFile(VERSION)
  const db = connect(path, { readwrite: true })
  db.run('PRAGMA journal_mode = WAL')
  const logs: number[] = []
  const tell = ({ fields }: MigrationNotice): void => void ('step' in fields && logs.push(statSync(`${path}-wal`).size))
  expect(migrateFile(db, path, { tell, now: NOW, migrations: THREE })).toBeUndefined()
  logs.push(statSync(`${path}-wal`).size)
  db.close()
  expect(logs).toEqual([...THREE.filter(({ version }) => version > SCHEMA), null].map(() => 0))
})

test('half a backup of a start that was killed is no backup', () => {
  const path = releasedFile(VERSION)
  const backup = `${path}.before-${NEWEST}`
  writeFileSync(`${backup}.new`, readFileSync(path).subarray(0, 20_000))
  expect(migrateTo(path, THREE).problem).toBeUndefined()
  expect([versionAt(backup), beside(path)]).toEqual([SCHEMA, [basename(backup)]])
})

test('a damaged ledger is found while it is backed up, named as such, and left as it is', () => {
  const path = releasedFile(VERSION)
  const bytes = readFileSync(path)
  // A page of rows that no start looks at.
  const page = Math.floor(bytes.indexOf('invoice-1') / 4_096) * 4_096
  bytes.fill(0xa5, page, page + 4_096)
  writeFileSync(path, bytes)
  const { problem } = migrateTo(path, THREE)
  expect(problemIn(problem ?? { problem: undefined, message: '' })).toEqual([
    'corrupt',
    expect.stringContaining(`${path} is not a sound ledger`),
  ])
  expect(readFileSync(path).subarray(4_096).equals(bytes.subarray(4_096))).toBeTrue()
  expect(beside(path)).toEqual([])
})

test('a backup of another moment is kept under a name with the time, and a new one is made', () => {
  const path = releasedFile(VERSION)
  const backup = `${path}.before-${NEWEST}`
  copyFileSync(path, backup)
  // The older program was started once more since.
  const db = new Database(path)
  db.run("INSERT INTO boots (id, node, started_at) VALUES ('boot-later', 'n', 1)")
  db.close()
  const { problem, told } = migrateTo(path, THREE)
  expect(problem).toBeUndefined()
  expect(told).toContain('the ledger is backed up first')
  expect(beside(path)).toHaveLength(2)
  const bootsAt = (file: string) => look(file, (given) => given.query<{ n: bigint }, []>('SELECT count(*) AS n FROM boots').get()?.n)
  const kept = beside(path).find((name) => join(dirname(path), name) !== backup) ?? ''
  expect([bootsAt(backup), bootsAt(join(dirname(path), kept))]).toEqual([2n, 1n])
  expect(existsSync(backup)).toBeTrue()
})

test('what this program makes and opens is a ledger of its own version, told of each boot', () => {
  const path = makePath()
  expect(makeDatabase(path)).toBeUndefined()
  const db = openDatabase(path, 'read')
  if ('problem' in db) throw new Error(db.message)
  expect(schemaVersionOf(db)).toBe(SCHEMA_VERSION)
  db.close()
})
