/**
 * The log's progress, and whether some process is moving the log into the file just now. SQLite makes both known to its connections in all processes; a program that merely
 * overwrites the file does not. Source: sqlite.org "PRAGMA wal_checkpoint" (NOOP looks and moves nothing), "WAL-mode File Format", "WAL Locks".
 */

import type { Database, Statement } from 'bun:sqlite'
import { existsSync, fstatSync, readdirSync } from 'node:fs'
import { type FileId, fileIdAt, idOf } from './file-id.ts'
import { isLockedForWriting } from './open-file-lock.ts'

/** `frames`: the frames in the log. `moved`: how many of them ended checkpoints, of whatever program, have moved into the file. */
export type LogProgress = Readonly<{ frames: number; moved: number }>

export class ProgressOfLog {
  readonly #ask: Statement<{ log: bigint | number; checkpointed: bigint | number }, []>

  constructor(db: Database) {
    this.#ask = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  }

  /** Throws what SQLite says. */
  read(): LogProgress {
    const { log = 0, checkpointed = 0 } = this.#ask.get() ?? {}
    return { frames: Number(log), moved: Number(checkpointed) }
  }
}

/** The lock that a checkpoint holds, in the file of the log's index. */
const CHECKPOINT = { first: 121n, bytes: 1n }

/**
 * Whether a checkpoint runs, of whatever process. The kernel is asked by SQLite's own handle of the log's index: a handle that was opened for the question would drop SQLite's locks when it
 * is closed. `/proc/locks` says it, too, but to read it holds up its reader for some ten milliseconds, and all that lock files meanwhile.
 */
export class CheckpointLock {
  readonly #path: string
  #handle = -1

  /** `path`: the ledger's, which a connection of this process has open. */
  constructor(path: string) {
    this.#path = `${path}-shm`
  }

  isHeld(): boolean {
    const index = fileIdAt(this.#path)
    if (index === undefined) return false
    if (idOfHandle(this.#handle) !== index) this.#handle = handleOf(index)
    return this.#handle >= 0 && isLockedForWriting(this.#handle, CHECKPOINT)
  }
}

/** The handle by which this process has the file open; -1: it has none, or the system does not tell. Source: proc_pid_fd(5). */
function handleOf(file: FileId): number {
  if (!existsSync(HANDLES)) return -1
  return Number(readdirSync(HANDLES).find((handle) => idOfHandle(Number(handle)) === file) ?? -1)
}

const HANDLES = '/proc/self/fd'

function idOfHandle(handle: number): FileId | undefined {
  try {
    return idOf(fstatSync(handle, { bigint: true }))
  } catch {
    return undefined
  }
}
