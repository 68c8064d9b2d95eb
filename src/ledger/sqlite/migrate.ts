/**
 * Brings a ledger in a file to this program's version: it first makes a copy beside the file, then takes step by step, each with its version in one transaction. If the process
 * is killed, the next start goes on from the last whole step. The caller holds the writer's lock. Rules: ledger.md "Migrations".
 */

import { type Database, SQLiteError } from 'bun:sqlite'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MIGRATIONS } from '../../../db/migrations.ts'
import { openDatabase, readText, schemaVersionOf, syncFolder } from '../../../db/open.ts'
import { type DatabaseProblem, problemOf } from '../../../db/problem.ts'
import { setAside } from '../../../db/set-aside.ts'
import { type Migration, newestOf, planOf } from '../../core/migration.ts'
import type { TellMigration } from '../thread-messages.ts'
import { positionOf } from './position.ts'
import { describeFailure } from './storage-failure.ts'

type MigrateOptions = Readonly<{
  tell: TellMigration
  /** Unix milliseconds. */
  now: number
  migrations?: readonly Migration[]
  /** The free bytes of the file system that has this folder. */
  freeBytesAt?: (folder: string) => number
}>

/** The room that must be left: a step may write the whole file into its log, and the gateway must be able to go on afterwards. */
const SPARE_BYTES = 64 * 1024 * 1024
const MIB = 1024 * 1024

/** `db`: the file's writing connection; the ledger is older than the last of `migrations`. Undefined: the ledger has that version now. */
export function migrateFile(db: Database, path: string, options: MigrateOptions): DatabaseProblem | undefined {
  const { tell, migrations = MIGRATIONS } = options
  const [from, to] = [schemaVersionOf(db), newestOf(migrations)]
  const backup = `${path}.before-${to}`
  tell({ notice: 'the ledger is of an older version and is migrated', fields: { ledger: path, from, to } })
  const problem = backUp(db, path, backup, options)
  if (problem !== undefined) return problem
  const began = performance.now()
  const stuck = climb(db, path, migrations, tell)
  if (stuck !== undefined) return { ...stuck, message: `${stuck.message}; ${backup} holds it as it was` }
  const tookMs = Math.round(performance.now() - began)
  tell({
    notice: 'the ledger is migrated; its backup may be removed once you do not want to go back',
    fields: { ledger: path, backup, version: to, took_ms: tookMs },
  })
  return undefined
}

/** Makes a copy with this program's version of an older ledger, which stays as it is. The copy is one file without a log; `made` must not exist. */
export function copyMigrated(path: string, made: string): DatabaseProblem | undefined {
  const from = openDatabase(path, 'read', { atAnyVersion: true })
  if ('problem' in from) return from
  try {
    copyTo(from, made)
  } catch (error) {
    return problemOf(error, path)
  } finally {
    from.close()
  }
  const db = openDatabase(made, 'write', { migrate: (copy) => climb(copy, made, MIGRATIONS, () => undefined) })
  if ('problem' in db) return db
  db.run('PRAGMA journal_mode = DELETE')
  db.close()
  return undefined
}

function climb(db: Database, path: string, migrations: readonly Migration[], tell: TellMigration): DatabaseProblem | undefined {
  const plan = planOf(migrations, schemaVersionOf(db))
  if (plan.kind !== 'due') return undefined
  for (const [index, step] of plan.steps.entries()) {
    tell({ notice: 'a step of the migration begins', fields: { version: step.version, step: index + 1, steps: plan.steps.length } })
    try {
      take(db, step)
    } catch (error) {
      if (!(error instanceof SQLiteError)) throw error
      const message = `${path} cannot be migrated to schema version ${step.version} (${describeFailure(error)}); it stays at ${schemaVersionOf(db)}`
      return { problem: 'unwritable', message }
    }
  }
  return undefined
}

function take(db: Database, step: Migration): void {
  db.transaction(() => {
    db.run(step.sql)
    db.run(`PRAGMA user_version = ${step.version}`)
  }).immediate()
  // SQLite's automatic checkpoints are off here, and the next step may write the whole file into the log again.
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Makes the backup. Nothing is changed before the copy is whole and on disk under its name. */
function backUp(
  db: Database,
  path: string,
  backup: string,
  { tell, now, freeBytesAt = freeBytes }: MigrateOptions,
): DatabaseProblem | undefined {
  const bytes = Number(readText(db, 'page_count')) * Number(readText(db, 'page_size'))
  const isThere = isOfThisMoment(db, backup)
  const needed = (isThere ? 1 : 2) * bytes + SPARE_BYTES
  const free = freeBytesAt(dirname(path))
  if (free < needed) {
    const [need, have] = [Math.ceil(needed / MIB), Math.floor(free / MIB)]
    const message = `${path} is not migrated: its backup and the migration need ${need} MiB beside it, and ${have} MiB are free; nothing was changed`
    return { problem: 'unwritable', message }
  }
  if (isThere) {
    tell({ notice: 'the backup of an earlier attempt is whole', fields: { backup } })
    return undefined
  }
  // An existing backup is of an earlier migration, or of another ledger.
  if (existsSync(backup)) setAside(backup, [''], now)
  tell({ notice: 'the ledger is backed up first', fields: { backup, bytes } })
  try {
    copyTo(db, backup)
    return undefined
  } catch (error) {
    const ofCopy = problemOf(error, backup)
    // The damage is in the ledger that was read, not in its copy.
    if (ofCopy.problem === 'corrupt') return problemOf(error, path)
    return {
      problem: 'unwritable',
      message: `${path} is not migrated, because it cannot be backed up: ${ofCopy.message}; nothing was changed`,
    }
  }
}

/** Writes the copy under another name until it is whole; only its owner may read it. */
function copyTo(db: Database, backup: string): void {
  const unfinished = `${backup}.new`
  rmSync(unfinished, { force: true })
  const handle = openSync(unfinished, 'w', 0o600)
  try {
    db.query('VACUUM INTO ?').run(unfinished)
    fsyncSync(handle)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
  renameSync(unfinished, backup)
  syncFolder(dirname(backup))
}

/** Whether the backup has everything that the ledger has. Each writer adds a boot before anything else, so it is enough that the last boots are the same. */
function isOfThisMoment(db: Database, backup: string): boolean {
  if (!existsSync(backup) || statSync(backup).size === 0) return false
  const copy = openDatabase(backup, 'read', { atAnyVersion: true })
  if ('problem' in copy) return false
  try {
    return momentOf(copy) === momentOf(db)
  } finally {
    copy.close()
  }
}

function momentOf(db: Database): string {
  const { ledger, rows } = positionOf(db)
  const boots = db.query<{ last: bigint | null }, []>('SELECT max(number) AS last FROM boots').get()?.last
  return `${ledger} ${rows} ${boots}`
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
