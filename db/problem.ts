/** Why a ledger is not opened, in words for the operator. Rules: ledger.md "Files", "Migrations". */

import { SQLiteError } from 'bun:sqlite'
import { type Migration, newestOf, planOf } from '../src/core/migration.ts'

/** `unmigrated`: a start of the gateway brings the ledger to this program's version. `older`: nothing does. */
export type DatabaseProblem = Readonly<{
  problem: 'missing' | 'locked' | 'newer' | 'older' | 'unmigrated' | 'corrupt' | 'unwritable'
  message: string
}>

export const RESTORE_HINT =
  'restore a backup (`tollgate restore FILE`), or move the file and what lies beside it away to begin a new ledger'

/** Of a ledger that is of another version than the last migration makes. `wayOut`: from one that nothing leads on from. */
export function versionProblem(
  place: string,
  migrations: readonly Migration[],
  version: number,
  wayOut: string,
): DatabaseProblem | undefined {
  const known = newestOf(migrations)
  const has = `${place} has schema version ${version}`
  switch (planOf(migrations, version).kind) {
    case 'current':
      return undefined
    case 'newer':
      return { problem: 'newer', message: `${has}; this program knows ${known}: use a newer program` }
    case 'due':
      return { problem: 'unmigrated', message: `${has}, of an older program; \`tollgate serve\` brings it to ${known} when it starts` }
    case 'unknown':
      return { problem: 'older', message: `${has}, of a preview of this program, which cannot be read; it was left as it is: ${wayOut}` }
  }
}

/** The problem behind an error of SQLite or the file system. Any other error is a bug and is thrown on. */
export function problemOf(error: unknown, path: string): DatabaseProblem {
  if (error instanceof SQLiteError) {
    switch (error.errno & 0xff) {
      case 5: // SQLITE_BUSY
      case 6: // SQLITE_LOCKED
        return { problem: 'locked', message: `${path} is locked by another program` }
      case 11: // SQLITE_CORRUPT
      case 26: // SQLITE_NOTADB
        return { problem: 'corrupt', message: `${path} is not a sound ledger (${error.message}); ${RESTORE_HINT}` }
      default:
        return { problem: 'unwritable', message: `${path} cannot be opened (${error.code ?? ''} ${error.message})` }
    }
  }
  if (isSystemError(error)) return { problem: 'unwritable', message: `${path} cannot be opened (${error.message})` }
  throw error
}

const isSystemError = (error: unknown): error is Error & { code: string } => error instanceof Error && 'syscall' in error
