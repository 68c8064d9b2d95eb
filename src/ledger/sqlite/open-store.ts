/** The thread's side of a file that is opened for writing. Rules: ledger.md "One writer", "A ledger that vanishes", "A file left open". */

import type { Database } from 'bun:sqlite'
import { keepLog, openDatabase, wasLeftOpen } from '../../../db/open.ts'
import type { OpenedStore } from '../store.ts'
import type { OpenProblem } from '../task.ts'
import type { FileId } from './file-id.ts'
import { changeOf, FileWatch } from './file-watch.ts'
import { positionOf } from './position.ts'
import { SqliteStore } from './store.ts'
import { readWatermark, whatIsMissing } from './watermark.ts'

/** `file`: the one that is locked. `now`: Unix milliseconds. */
export function openStore(path: string, file: FileId, bootId: string, now: number): OpenedStore | OpenProblem {
  const leftOpen = wasLeftOpen(path)
  const db = openDatabase(path, 'write', (given) => {
    if (leftOpen) keepLog(given, true)
    return problemOfFile(given, path, file)
  })
  if ('problem' in db) return db
  const store = new SqliteStore(db, bootId, now)
  let watch: FileWatch | undefined
  return {
    store,
    spills: { own: path, left: [] },
    wasLeftOpen: leftOpen,
    begin(tellLost) {
      watch = new FileWatch(path, file, store, tellLost)
    },
    onSound: () => keepLog(db, false),
    onNode: () => undefined,
    end: () => watch?.close(),
    afterClose: () => watch?.leaveMark(),
  }
}

/** A file that is not the one that is locked, or that has less in it than the last process left. */
function problemOfFile(db: Database, path: string, file: FileId): OpenProblem | undefined {
  const moved = changeOf(path, file)
  if (moved !== undefined) return { problem: 'missing', message: moved }
  const { ledger, rows } = positionOf(db)
  const missing = whatIsMissing(path, readWatermark(path), ledger, file, rows)
  return missing === undefined ? undefined : { problem: 'missing', message: missing }
}
