/**
 * Checks that the files at the ledger's path are still the open ones, with what was written here and nothing else. SQLite does not notice when its file is moved,
 * replaced, removed or overwritten, and goes on writing: charges would go to a file that no one reads, or that no start can open.
 * Rules: ledger.md "A ledger that vanishes", "A ledger that is overwritten".
 */

import type { LockedFile } from '../place.ts'
import type { Loss } from '../thread-messages.ts'
import { ContentWatch, logOf } from './content-watch.ts'
import { fileIdAt, realPathOf } from './file-id.ts'
import type { LogState } from './file-state.ts'
import type { Generation, Generations } from './generation.ts'
import { keepFromLastCheckpoint } from './last-wal-checkpoint.ts'
import { isToBegin } from './long-log.ts'
import type { SqliteStore } from './store.ts'
import { readWatermark, writeWatermark } from './watermark.ts'

/** Often enough that no request is admitted a second after a loss, although a change that may be another program's checkpoint is looked at twice. */
const LOOK_EVERY_MS = 250

type WatchedStore = Pick<SqliteStore, 'position' | 'progress' | 'generations' | 'advanceGeneration' | 'keepInFile' | 'moveLog' | 'refuse'>

/** `named`: the path as it is configured, of which a part may be a link. `path`: the file's path behind any link. */
type Watched = Readonly<{ named: string; path: string; file: LockedFile }>

export class FileWatch {
  readonly #watched: Watched
  readonly #store: WatchedStore
  readonly #generations: Generations
  readonly #tell: (loss: Loss | undefined) => void
  readonly #timer: ReturnType<typeof setInterval>
  readonly #content: ContentWatch
  #loss: Loss | undefined
  /** What a checkpoint of ours that runs began with. Meanwhile any change of the file is accepted, as long as its generation is right. */
  #begun: Readonly<{ generation: Generation; log: LogState | undefined }> | undefined
  #marked = ''

  /** To be called when the connection has written, which makes the log. `tell`: called when the files are lost, or there again. */
  constructor(watched: Watched, store: WatchedStore, tell: (loss: Loss | undefined) => void) {
    this.#watched = watched
    this.#store = store
    this.#generations = store.generations
    this.#tell = tell
    this.#content = new ContentWatch(watched, store)
    this.leaveMark()
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  /** Whether the log may be moved into the file now. If it may, `endCheckpoint` must be called when that is over. */
  beginCheckpoint(): boolean {
    if (this.#begun !== undefined) return false
    this.#look({ isInTurn: false })
    const generation = this.#generations.newest
    if (!this.#isSound || this.#content.file.generation === generation) return false
    this.#begun = { generation, log: this.#content.log }
    return true
  }

  /**
   * Moves the rest of a long log between two looks. The first one looks for an overwrite while the checkpoint ran: the log must be what it was, and the file have what the checkpoint brought.
   * For the other one the rest is a checkpoint of ours as well.
   */
  endCheckpoint(): void {
    if (this.#begun === undefined) return
    const { generation, log } = this.#begun
    const isSameLog = this.#content.isStillLog(log)
    this.#look({ isInTurn: false })
    if (isSameLog && this.#isSound && this.#content.file.generation === generation && isToBegin(this.#store.progress)) {
      this.#store.moveLog()
      this.#look({ isInTurn: false })
    }
    this.#begun = undefined
  }

  get #isSound(): boolean {
    return this.#loss === undefined && this.#content.suspect === undefined
  }

  /** Writes the watermark, also if another file is at the path by now: the next start there must find everything that this process has. */
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
    // The link may lead to another ledger now, whose watermark must stay as it is.
    if (other !== path && (readWatermark(other)?.ledger ?? ledger) === ledger) writeWatermark(other, mark)
  }

  /** Looks a last time, so that closing the connection changes no other program's file. A suspect log is left as it is, because the next start can read it. */
  close(): void {
    clearInterval(this.#timer)
    this.look()
    const { suspect } = this.#content
    if (suspect !== undefined && this.#loss === undefined) this.#leaveAsItIs(overwritten(suspect))
  }

  look(): void {
    this.#look({ isInTurn: true })
  }

  /** `isInTurn`: not only because a checkpoint begins or ends. */
  #look({ isInTurn }: Readonly<{ isInTurn: boolean }>): void {
    // A file that was overwritten stays lost: nothing could tell that it is whole again.
    if (this.#loss?.isOverwritten === true) return
    const loss = this.#whatIsLost(isInTurn)
    // The log is moved again with every look, because a reader may have prevented it.
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

  /** The content is checked before the path: a file that was overwritten and then moved must not get our log. */
  #whatIsLost(isInTurn: boolean): Loss | undefined {
    const { named, path, file } = this.#watched
    const isPlaced = this.#loss === undefined
    const lost = this.#content.look({ isOurs: this.#begun !== undefined || !isPlaced, mayAdvance: isPlaced, isInTurn })
    if (lost !== undefined) return { problem: overwritten(lost), isOverwritten: true }
    const moved =
      changeOf(path, file.id) ??
      (fileIdAt(named) === file.id ? undefined : `${named} leads to another file than the one that is open`) ??
      changeOf(logOf(path), this.#content.log?.id)
    return moved === undefined ? undefined : { problem: moved, isOverwritten: false }
  }
}

const overwritten = (path: string): string => `${path} is another file than the one that is open: it was overwritten`

/** How the path has changed; undefined: it still leads to this file. */
export function changeOf(path: string, file: string | undefined): string | undefined {
  const now = fileIdAt(path)
  if (now === file) return undefined
  return now === undefined ? `${path} is gone` : `${path} is another file than the one that is open`
}
