/**
 * How far the log has come, and whether some process is moving it into the file just now: SQLite tells its connections in all processes, and a program that only writes
 * over the file tells none of them. Source: sqlite.org "PRAGMA wal_checkpoint" (NOOP looks and moves nothing), "WAL-mode File Format", "WAL Locks".
 */

import type { Database, Statement } from 'bun:sqlite'
import { readFileSync, statSync } from 'node:fs'

/** `moved`: of the frames, into the file, by whatever checkpoint has ended. */
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

/** Of the lock that a checkpoint holds, in the file of the log's index. */
const CHECKPOINT_BYTE = '121'

/** Whether any process that the kernel shows to this one runs a checkpoint. */
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
