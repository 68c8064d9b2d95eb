/**
 * The log's progress, and whether some process is moving the log into the file just now. SQLite makes both known to its connections in all processes; a program that merely
 * overwrites the file does not. Source: sqlite.org "PRAGMA wal_checkpoint" (NOOP looks and moves nothing), "WAL-mode File Format", "WAL Locks".
 */

import type { Database, Statement } from 'bun:sqlite'
import { readFileSync, statSync } from 'node:fs'

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

/** The byte of the lock that a checkpoint holds, in the file of the log's index. */
const CHECKPOINT_BYTE = '121'

/** Whether a process runs a checkpoint, as far as the kernel shows processes to this one. */
export function isCheckpointed(path: string): boolean {
  try {
    const inode = String(statSync(`${path}-shm`, { bigint: true }).ino)
    return readFileSync('/proc/locks', 'latin1')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .some(
        ([, kind, , mode, , place = '', first]) =>
          kind === 'POSIX' && mode === 'WRITE' && place.split(':')[2] === inode && first === CHECKPOINT_BYTE,
      )
  } catch {
    return false
  }
}
