/** The log moved into the file by the connection that writes, where that cannot be left to the other one. Rules: ledger.md "Group commit". */

import type { Database } from 'bun:sqlite'
import type { LogProgress } from './log-progress.ts'
import { isStorageFailure } from './storage-failure.ts'

/** Sixteen megabytes, four WAL checkpoints apart. */
const LONG_FRAMES = 4_000
/** What a reader or a VACUUM has left behind the checkpoint may be as long as the file. */
const REST_FRAMES_MAX = 1_000

/**
 * Asked behind a WAL checkpoint. What was committed while that ran is in the log alone, so under load the log would never be in the file as a whole, which is when it begins anew: it would grow
 * without end. Commits wait for the rest, so a long one is left to the next checkpoint.
 */
export const isToBegin = ({ frames, moved }: LogProgress): boolean =>
  frames >= LONG_FRAMES && moved < frames && frames - moved <= REST_FRAMES_MAX

/** What a reader, another checkpoint or the storage does not let move now is moved later. */
export function moveLog(db: Database): void {
  try {
    db.run('PRAGMA wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (!isStorageFailure(error)) throw error
  }
}
