/** The thread's side of a file that is opened for writing. Rules: ledger.md "One writer", "A ledger that vanishes", "A file left open". */

import type { Database } from 'bun:sqlite'
import { keepLog, openDatabase, wasLeftOpen } from '../../../db/open.ts'
import type { WritablePlace } from '../place.ts'
import type { OpenProblem, TellMigration } from '../thread-messages.ts'
import type { OpenedStore } from '../writing/store.ts'
import { logOf } from './content-watch.ts'
import { stateOfFile, stateOfLog } from './file-state.ts'
import { changeOf, FileWatch } from './file-watch.ts'
import { migrateFile } from './migrate.ts'
import { positionOf } from './position.ts'
import { SqliteStore } from './store.ts'
import { readWatermark, whatIsForeign, whatIsMissing } from './watermark.ts'

type FilePlace = Extract<WritablePlace, { kind: 'sqlite' }>

/** `now`: Unix milliseconds. `tell`: told of the migration of an older ledger; absent: an older ledger is refused. */
type Boot = Readonly<{ bootId: string; now: number; tell?: TellMigration | undefined }>

export function openStore(place: FilePlace, { bootId, now, tell }: Boot): OpenedStore | OpenProblem {
  const { path } = place
  const foreign = problemOfLog(place)
  if (foreign !== undefined) return foreign
  const leftOpen = wasLeftOpen(path)
  const db = openDatabase(path, 'write', {
    refuses(given) {
      if (leftOpen) keepLog(given, true)
      return problemOfFile(given, place)
    },
    migrate: tell && ((given) => migrateFile(given, path, { tell, now })),
  })
  if ('problem' in db) return db
  const store = new SqliteStore(db, bootId, now)
  let watch: FileWatch | undefined
  return {
    store,
    spills: { own: path, left: [] },
    wasLeftOpen: leftOpen,
    begin({ tellLoss, walCheckpoint }) {
      const watching = new FileWatch(place, store, tellLoss)
      watch = watching
      store.onWalCheckpointDue(() => watching.beginCheckpoint() && walCheckpoint())
    },
    onSound: () => keepLog(db, false),
    onWalCheckpointed: () => watch?.endCheckpoint(),
    onNode: () => undefined,
    end: () => watch?.close(),
    afterClose: () => watch?.leaveMark(),
  }
}

/** The problem of a file that is not the locked one, or that has fewer rows than the last process left. */
function problemOfFile(db: Database, { path, file }: FilePlace): OpenProblem | undefined {
  const moved = changeOf(path, file.id)
  if (moved !== undefined) return { problem: 'missing', message: moved }
  const { ledger, rows } = positionOf(db)
  const missing = whatIsMissing(path, readWatermark(path), ledger, file.id, rows)
  return missing === undefined ? undefined : { problem: 'missing', message: missing }
}

/** The problem of a log that does not belong to the file. Checked before SQLite opens the file, because SQLite would move such a log into it. */
function problemOfLog({ path, file }: FilePlace): OpenProblem | undefined {
  if ((stateOfLog(logOf(path))?.bytes ?? 0) === 0) return undefined
  const foreign = whatIsForeign(path, readWatermark(path), stateOfFile(file.handle).generation)
  return foreign === undefined ? undefined : { problem: 'missing', message: foreign }
}
