/**
 * Opens the ledger's file: sets the pragmas, in the order in which they work, and refuses a file that is not a sound ledger of this version.
 * Rules: ledger.md "Files", "Migrations"; platform.md "SQLite".
 */

import { constants, type Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { connect } from './connection.ts'
import { APPLICATION_ID, MIGRATIONS, makeTables, SCHEMA_VERSION } from './migrations.ts'
import { type DatabaseProblem, problemOf, RESTORE_HINT, versionProblem } from './problem.ts'

/** `create` makes a new ledger only if there is no file; an existing file is opened as `write` does. */
export type Access = 'read' | 'write' | 'create'

/**
 * `refuses`: the caller's own check of a ledger, which may be an older one, before anything is written to it. `migrate`: brings an older ledger to this version; absent:
 * an older ledger is refused, unless it is read `atAnyVersion`.
 */
type Opening = Readonly<{
  refuses?: (db: Database) => DatabaseProblem | undefined
  migrate?: ((db: Database) => DatabaseProblem | undefined) | undefined
  atAnyVersion?: boolean
}>

/** Below it, a WAL may be reset under a reader (fixed in 3.51.3), and money is at stake. */
const SQLITE_VERSION_MIN = '3.51.3'
const BUSY_TIMEOUT_MS = 5_000
/** A longer log is cut to this size when it begins again. */
const WAL_BYTES_KEPT = 64 * 1024 * 1024

/** An open connection with every pragma set and checked, or why there is none. Integers are bigints on it. */
export function openDatabase(path: string, access: Access, opening: Opening = {}): Database | DatabaseProblem {
  try {
    if (!existsSync(path)) {
      if (access !== 'create') return { problem: 'missing', message: `there is no ledger at ${path}` }
      const problem = makeDatabase(path)
      if (problem !== undefined) return problem
    }
    return openExisting(path, access === 'read', opening)
  } catch (error) {
    return problemOf(error, path)
  }
}

/**
 * Whether the last writer did not close the file: a clean end removes the log. To be asked before the file is opened, because opening makes a log. A reader that outlived the
 * writer leaves it too, and then the check that follows is unnecessary.
 */
export const wasLeftOpen = (path: string): boolean => existsSync(`${path}-wal`)

/** Sets whether closing this connection leaves the log, so that the next one to open the file still finds it left open. */
export function keepLog(db: Database, isKept: boolean): void {
  db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, isKept ? 1 : 0)
}

/** The first damage that SQLite finds in the whole file; undefined: it finds none. The check takes seconds for each million receipts. */
export function damageIn(path: string): string | undefined {
  const db = openDatabase(path, 'read')
  if ('problem' in db) return db.message
  try {
    const finding = readText(db, 'quick_check(1)')
    return finding === 'ok' ? undefined : finding.replaceAll(/\s+/g, ' ')
  } catch (error) {
    return problemOf(error, path).message
  } finally {
    db.close()
  }
}

/** Makes a new, empty ledger at a path where there is no file; returns why none was made. */
export function makeDatabase(path: string): DatabaseProblem | undefined {
  try {
    if (isNotEmpty(`${path}-wal`)) {
      const message = `${path} is gone but its write-ahead log ${path}-wal is not empty; put the file back or move the log away`
      return { problem: 'corrupt', message }
    }
    createDatabase(path)
    return undefined
  } catch (error) {
    return problemOf(error, path)
  }
}

/** Makes the ledger under another name and renames it when it is whole, so that a crash never leaves half a ledger at `path`. */
function createDatabase(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const unfinished = `${path}.new`
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(unfinished + suffix, { force: true })
  const db = connect(unfinished, { create: true, readwrite: true })
  try {
    setConnectionPragmas(db)
    chmodSync(unfinished, 0o600)
    setPragmas(db)
    makeTables(db)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
  renameSync(unfinished, path)
  syncFolder(dirname(path))
}

function openExisting(path: string, isReadOnly: boolean, opening: Opening): Database | DatabaseProblem {
  const db = connect(path, isReadOnly ? { readonly: true } : { readwrite: true })
  try {
    setConnectionPragmas(db)
    const problem = inspect(db, path, isReadOnly, opening) ?? opening.refuses?.(db) ?? (isReadOnly ? undefined : makeReady(db, opening))
    if (problem === undefined) return db
    db.close()
    return problem
  } catch (error) {
    db.close()
    throw error
  }
}

function makeReady(db: Database, { migrate }: Opening): DatabaseProblem | undefined {
  setPragmas(db)
  const problem = schemaVersionOf(db) === SCHEMA_VERSION ? undefined : migrate?.(db)
  if (problem === undefined) proveWritable(db)
  return problem
}

/** Sets the pragmas that write nothing. The time-out comes first, because every later statement may meet a lock. */
function setConnectionPragmas(db: Database): void {
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  db.run('PRAGMA trusted_schema = OFF')
}

/** Looks before anything is written: a foreign file must stay as it is. */
function inspect(db: Database, path: string, isReadOnly: boolean, { migrate, atAnyVersion = false }: Opening): DatabaseProblem | undefined {
  if (statSync(path).nlink > 1) {
    const message = `${path} has another name too (a hard link), under which its write-ahead log would not be found: remove the other name`
    return { problem: 'unwritable', message }
  }
  if (readInteger(db, 'application_id') !== APPLICATION_ID)
    return { problem: 'corrupt', message: `${path} is not a Tollgate ledger; it was left as it is: ${RESTORE_HINT}` }
  const ofVersion = versionProblem(path, MIGRATIONS, schemaVersionOf(db), 'move the file away to begin a new ledger')
  const mayBeOlder = migrate !== undefined || atAnyVersion
  const refused = ofVersion?.problem === 'unmigrated' && mayBeOlder ? undefined : ofVersion
  if (refused !== undefined || isReadOnly) return refused
  const moved = db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'moved'").get()
  if (moved !== null) {
    const message = `${path} was copied to ${moved.value}, where its balances are spent now: name that by ledger.url_env, or restore a backup of the file`
    return { problem: 'unwritable', message }
  }
  glance(db)
  return undefined
}

/**
 * Marks the file as moved once `move` has ended: no process writes it any more, because its balances would be spent twice. It can still be read. `to`: where the ledger is
 * then. If `move` throws, the file stays as it was.
 */
export function markMoved<T>(path: string, to: string, move: () => T): T | DatabaseProblem {
  const db = openDatabase(path, 'write')
  if ('problem' in db) return db
  try {
    return db
      .transaction(() => {
        db.query("INSERT INTO meta (name, value) VALUES ('moved', ?)").run(to)
        return move()
      })
      .immediate()
  } finally {
    db.close()
  }
}

/**
 * Reads the beginning of every table, which takes no longer for a large file. Throws if that is damaged. The whole file is checked after the start, and only after an
 * unclean end.
 */
function glance(db: Database): void {
  const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  for (const { name } of tables) db.query(`SELECT 1 FROM "${name}" LIMIT 1`).get()
}

function setPragmas(db: Database): void {
  if (!isAtLeast(versionOf(db), SQLITE_VERSION_MIN)) throw new Error(`SQLite ${versionOf(db)} is older than ${SQLITE_VERSION_MIN}`)
  db.run('PRAGMA foreign_keys = ON')
  db.run('PRAGMA cell_size_check = ON')
  db.run('PRAGMA journal_mode = WAL')
  db.run('PRAGMA synchronous = FULL')
  // The log is moved into the database from another connection alone (src/ledger/sqlite/wal-checkpointer.ts).
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`)
  const asserted = {
    journal_mode: 'wal',
    synchronous: '2',
    foreign_keys: '1',
    trusted_schema: '0',
    busy_timeout: `${BUSY_TIMEOUT_MS}`,
    wal_autocheckpoint: '0',
    journal_size_limit: `${WAL_BYTES_KEPT}`,
  }
  for (const [pragma, expected] of Object.entries(asserted)) {
    const actual = readText(db, pragma)
    if (actual !== expected) throw new Error(`SQLite would not set ${pragma} to ${expected}: it is ${actual}`)
  }
}

/** Commits without changing anything, because SQLite opens a read-only file without an error. It is also the probe after a full disk. */
export function proveWritable(db: Database): void {
  db.transaction(() => db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`)).immediate()
}

export function readText(db: Database, pragma: string): string {
  const row = db.query<Record<string, unknown>, []>(`PRAGMA ${pragma}`).get()
  return String(Object.values(row ?? {})[0])
}

const versionOf = (db: Database): string => db.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version ?? ''
const readInteger = (db: Database, pragma: string): number => Number(readText(db, pragma))
export const schemaVersionOf = (db: Database): number => readInteger(db, 'user_version')

function isAtLeast(version: string, minimum: string): boolean {
  const [have, need] = [version, minimum].map((text) => text.split('.').reduce((sum, part) => sum * 1_000 + Number(part), 0))
  return have !== undefined && need !== undefined && have >= need
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

const isNotEmpty = (path: string): boolean => existsSync(path) && statSync(path).size > 0
