/**
 * The writer's lock: a side file that one process holds under an exclusive SQLite lock. The kernel frees it with the process, `kill -9` too.
 * Rules: ledger.md "One writer".
 */

import { Database, SQLiteError } from 'bun:sqlite'
import { closeSync, openSync, readSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export type Lock = Readonly<{ release(): void }>
/** `holder`: process id; undefined when it could not be read. */
export type Locked = Readonly<{ holder: number | undefined }>

/** POSIX drops all of a process's locks on a file when it closes any handle of it: a file that is locked here must not be opened again here. */
const heldHere = new Set<string>()

/** SQLite's `user_version`, four bytes, big-endian: the holder's process id. */
const PID_OFFSET = 60

/** The lock of the ledger at `path`, whose folder must exist. Throws what the file system says when the side file cannot be made. */
export function takeLock(path: string): Lock | Locked {
  const file = join(realpathSync(dirname(path)), `${basename(path)}.lock`)
  if (heldHere.has(file)) return { holder: process.pid }
  const db = new Database(file, { create: true, readwrite: true })
  try {
    // No rollback journal, which would be a third file; the exclusive mode keeps the lock beyond the commit that writes the id.
    db.run('PRAGMA busy_timeout = 0')
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    db.run('PRAGMA journal_mode = MEMORY')
    db.run('BEGIN EXCLUSIVE')
    db.run(`PRAGMA user_version = ${process.pid}`)
    db.run('COMMIT')
  } catch (error) {
    db.close()
    if (error instanceof SQLiteError && (error.errno & 0xff) === 5) return { holder: readHolder(file) }
    throw error
  }
  heldHere.add(file)
  return {
    release: () => {
      if (heldHere.delete(file)) db.close()
    },
  }
}

/** The process that holds the ledger's lock, or held it last; undefined when that cannot be read. */
export function holderOf(path: string): number | undefined {
  const file = join(dirname(path), `${basename(path)}.lock`)
  try {
    const real = realpathSync(file)
    return heldHere.has(real) ? process.pid : readHolder(real)
  } catch {
    return undefined
  }
}

function readHolder(file: string): number | undefined {
  const handle = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(4)
    return readSync(handle, bytes, 0, 4, PID_OFFSET) === 4 ? bytes.readUInt32BE() : undefined
  } finally {
    closeSync(handle)
  }
}
