/**
 * Whether the files at the ledger's path are still those that are open, with what was written here and nothing else. SQLite writes on into a file that was moved,
 * replaced, removed or overwritten, and SQLite does not notice: charges would go to a file that is read by no one, or that no start can open.
 * Rules: ledger.md "A ledger that vanishes", "A ledger that is overwritten".
 */

import type { LockedFile } from '../place.ts'
import type { Loss } from '../task.ts'
import { ContentWatch, logOf } from './content-watch.ts'
import { fileIdAt, realPathOf } from './file-id.ts'
import type { Generations } from './generation.ts'
import { keepFromLastCheckpoint } from './last-wal-checkpoint.ts'
import type { SqliteStore } from './store.ts'
import { readWatermark, writeWatermark } from './watermark.ts'

/** Within a second of the loss no request is admitted, and what may be another program's checkpoint is looked at twice. */
const LOOK_EVERY_MS = 250

type WatchedStore = Pick<SqliteStore, 'position' | 'progress' | 'generations' | 'advanceGeneration' | 'keepInFile' | 'refuse'>

/** `named`: the path as it is configured, of which a part may be a link; `path`: where that led to. */
type Watched = Readonly<{ named: string; path: string; file: LockedFile }>

export class FileWatch {
  readonly #watched: Watched
  readonly #store: WatchedStore
  readonly #generations: Generations
  readonly #tell: (loss: Loss | undefined) => void
  readonly #timer: ReturnType<typeof setInterval>
  readonly #content: ContentWatch
  #loss: Loss | undefined
  /** A checkpoint of ours runs, and then whatever it does to the file is right as long as the generation is. */
  #isCheckpointing = false
  #marked = ''

  /** Call it when the connection has written, which makes the log. `tell`: when the answer changes. */
  constructor(watched: Watched, store: WatchedStore, tell: (loss: Loss | undefined) => void) {
    this.#watched = watched
    this.#store = store
    this.#generations = store.generations
    this.#tell = tell
    this.#content = new ContentWatch(watched, store)
    this.leaveMark()
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  /** Whether the log may be moved into the file now; then `endCheckpoint` is called when that is over. */
  beginCheckpoint(): boolean {
    if (this.#isCheckpointing) return false
    this.look()
    this.#isCheckpointing =
      this.#loss === undefined && this.#content.suspect === undefined && this.#content.file.generation !== this.#generations.newest
    return this.#isCheckpointing
  }

  endCheckpoint(): void {
    this.look()
    this.#isCheckpointing = false
  }

  /** Also where the path has another file by now: the next start there must ask for all that this process has. */
  leaveMark(): void {
    if (this.#loss?.isOverwritten === true) return
    const { ledger, rows } = this.#store.position
    const mark = { ledger, file: this.#watched.file.id, rows, generation: this.#content.file.generation, newest: this.#generations.newest }
    const { path, named } = this.#watched
    const other = this.#loss === undefined ? path : realPathOf(named)
    const text = JSON.stringify([mark, other])
    if (text === this.#marked) return
    this.#marked = text
    writeWatermark(path, mark)
    // Where a link leads now there may be a ledger in its own right.
    if (other !== path && (readWatermark(other)?.ledger ?? ledger) === ledger) writeWatermark(other, mark)
  }

  /** A last look, so that the end of the connection touches no file of others: an indeterminate log is left as it is, which the next start can read. */
  close(): void {
    clearInterval(this.#timer)
    this.look()
    const { suspect } = this.#content
    if (suspect !== undefined && this.#loss === undefined) this.#leaveAsItIs(overwritten(suspect))
  }

  look(): void {
    // What was overwritten comes back by no way that could be told from another one.
    if (this.#loss?.isOverwritten === true) return
    const loss = this.#whatIsLost()
    // Again with every look, because a reader may have held it up.
    if (loss?.isOverwritten === false || this.#loss !== undefined) this.#store.keepInFile(loss !== undefined)
    if (loss?.isOverwritten === true) this.#leaveAsItIs(loss.problem)
    const isChanged = loss?.problem !== this.#loss?.problem
    this.#loss = loss
    if (isChanged) this.#tell(loss)
    this.leaveMark()
  }

  #leaveAsItIs(problem: string): void {
    this.#store.refuse(problem)
    keepFromLastCheckpoint(this.#watched.file.handle)
  }

  /** The file by its content first: one that was overwritten and then moved must not get our log. */
  #whatIsLost(): Loss | undefined {
    const { named, path, file } = this.#watched
    const isPlaced = this.#loss === undefined
    const lost = this.#content.look({ isOurs: this.#isCheckpointing || !isPlaced, mayAdvance: isPlaced })
    if (lost !== undefined) return { problem: overwritten(lost), isOverwritten: true }
    const moved =
      changeOf(path, file.id) ??
      (fileIdAt(named) === file.id ? undefined : `${named} leads to another file than the one that is open`) ??
      changeOf(logOf(path), this.#content.log?.id)
    return moved === undefined ? undefined : { problem: moved, isOverwritten: false }
  }
}

const overwritten = (path: string): string => `${path} is another file than the one that is open: it was overwritten`

/** Undefined where the path still leads to this file. */
export function changeOf(path: string, file: string | undefined): string | undefined {
  const now = fileIdAt(path)
  if (now === file) return undefined
  return now === undefined ? `${path} is gone` : `${path} is another file than the one that is open`
}
