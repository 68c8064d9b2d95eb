/**
 * Whether the files at the ledger's path are still those that are open. SQLite writes on into a file that was moved, replaced or removed and says nothing: what
 * is charged then ends where nobody looks. Rules: ledger.md "A ledger that vanishes".
 */

import { type FileId, fileIdAt } from './file-id.ts'
import type { SqliteStore } from './store.ts'
import { writeWatermark } from './watermark.ts'

/** Within a second of the loss all that is committed is in the file that is open, and no request is admitted. */
const LOOK_EVERY_MS = 500

export class FileWatch {
  readonly #path: string
  readonly #file: FileId
  readonly #log: FileId | undefined
  readonly #ledger: Pick<SqliteStore, 'position' | 'keepInFile'>
  readonly #tell: (lost: string | undefined) => void
  readonly #timer: ReturnType<typeof setInterval>
  #lost: string | undefined
  #marked = -1

  /** `file`: the one that is locked. Call it when the connection has written, which makes the log. `tell`: when the answer changes. */
  constructor(path: string, file: FileId, ledger: Pick<SqliteStore, 'position' | 'keepInFile'>, tell: (lost: string | undefined) => void) {
    this.#path = path
    this.#file = file
    this.#log = fileIdAt(logOf(path))
    this.#ledger = ledger
    this.#tell = tell
    this.leaveMark()
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  /** Also where the path has another file by now: whoever starts there must ask for all that this process has. */
  leaveMark(): void {
    const { ledger, rows } = this.#ledger.position
    if (rows === this.#marked) return
    this.#marked = rows
    writeWatermark(this.#path, { ledger, file: this.#file, rows })
  }

  /** A last look, so that the end of the connection touches no file of others. */
  close(): void {
    clearInterval(this.#timer)
    this.#look()
  }

  #look(): void {
    const lost = changeOf(this.#path, this.#file) ?? changeOf(logOf(this.#path), this.#log)
    // Again with every look, because a reader may have held it up.
    if (lost !== undefined || this.#lost !== undefined) this.#ledger.keepInFile(lost !== undefined)
    const isChanged = lost !== this.#lost
    this.#lost = lost
    if (isChanged) this.#tell(lost)
    this.leaveMark()
  }
}

const logOf = (path: string): string => `${path}-wal`

/** Undefined where the path still leads to this file. */
export function changeOf(path: string, file: FileId | undefined): string | undefined {
  const now = fileIdAt(path)
  if (now === file) return undefined
  return now === undefined ? `${path} is gone` : `${path} is another file than the one that is open`
}
