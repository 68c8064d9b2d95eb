/**
 * Whether the files at the ledger's path are still those that are open, with what was written here and nothing else. SQLite writes on into a file that was moved,
 * replaced, removed or overwritten and says nothing: what is charged then ends where nobody looks, or in a file that no start can open.
 * Rules: ledger.md "A ledger that vanishes", "A ledger that is overwritten".
 */

import type { Loss } from '../task.ts'
import { fileIdAt, realPathOf } from './file-id.ts'
import { type FileState, isWhole, type LogState, logCanFollow, stateOfFile, stateOfLog } from './file-state.ts'
import { canFollow, type Generations } from './generation.ts'
import { keepFromLastCheckpoint } from './last-checkpoint.ts'
import type { LockedFile } from './lock.ts'
import type { SqliteStore } from './store.ts'
import { readWatermark, writeWatermark } from './watermark.ts'

/** Within a second of the loss no request is admitted. */
const LOOK_EVERY_MS = 400

type WatchedStore = Pick<SqliteStore, 'position' | 'generations' | 'advanceGeneration' | 'keepInFile' | 'refuse'>

/** `named`: the path as it is configured, of which a part may be a link; `path`: where that led to. */
type Watched = Readonly<{ named: string; path: string; file: LockedFile }>

export class FileWatch {
  readonly #watched: Watched
  readonly #store: WatchedStore
  readonly #generations: Generations
  readonly #tell: (loss: Loss | undefined) => void
  readonly #timer: ReturnType<typeof setInterval>
  #file: FileState
  #log: LogState | undefined
  #loss: Loss | undefined
  /** A checkpoint of ours runs, and then whatever it does to the file is right as long as the generation is. */
  #isCheckpointing = false
  /** So is another program's until the file stands still: one of a thread that died, or at an operator's prompt. It may begin the log anew, too. */
  #isSettling = true
  #marked = ''

  /** Call it when the connection has written, which makes the log. `tell`: when the answer changes. */
  constructor(watched: Watched, store: WatchedStore, tell: (loss: Loss | undefined) => void) {
    this.#watched = watched
    this.#store = store
    this.#generations = store.generations
    this.#tell = tell
    this.#file = this.#seen()
    store.advanceGeneration()
    this.#log = stateOfLog(logOf(watched.path))
    this.leaveMark()
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS)
  }

  /** Whether the log may be moved into the file now; then `endCheckpoint` is called when that is over. */
  beginCheckpoint(): boolean {
    if (this.#isCheckpointing) return false
    this.look()
    this.#isCheckpointing = this.#loss === undefined && this.#file.generation !== this.#generations.newest
    return this.#isCheckpointing
  }

  endCheckpoint(): void {
    this.look()
    this.#isCheckpointing = false
  }

  /** Also where the path has another file by now: whoever starts there must ask for all that this process has. */
  leaveMark(): void {
    if (this.#loss?.isOverwritten === true) return
    const { ledger, rows } = this.#store.position
    const mark = { ledger, file: this.#watched.file.id, rows, generation: this.#file.generation, newest: this.#generations.newest }
    const { path, named } = this.#watched
    const other = this.#loss === undefined ? path : realPathOf(named)
    const text = JSON.stringify([mark, other])
    if (text === this.#marked) return
    this.#marked = text
    writeWatermark(path, mark)
    // Where a link leads now there may be a ledger in its own right.
    if (other !== path && (readWatermark(other)?.ledger ?? ledger) === ledger) writeWatermark(other, mark)
  }

  /** A last look, so that the end of the connection touches no file of others. */
  close(): void {
    clearInterval(this.#timer)
    this.look()
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
    const overwritten = this.#whatIsOverwritten()
    if (overwritten !== undefined) return { problem: overwritten, isOverwritten: true }
    const moved =
      changeOf(path, file.id) ??
      (fileIdAt(named) === file.id ? undefined : `${named} leads to another file than the one that is open`) ??
      changeOf(logOf(path), this.#log?.id)
    return moved === undefined ? undefined : { problem: moved, isOverwritten: false }
  }

  #whatIsOverwritten(): string | undefined {
    const { path } = this.#watched
    const before = this.#file
    const now = this.#seen()
    if (!this.#canFollow(before, now)) return overwritten(path)
    this.#file = now
    const isSame = now.changedNs === before.changedNs && now.generation === before.generation
    this.#isSettling = !isSame && !this.#isCheckpointing && (this.#isSettling || now.generation !== before.generation)
    if (now.generation === this.#generations.newest && this.#loss === undefined) this.#store.advanceGeneration()
    const log = stateOfLog(logOf(path))
    const isLogOurs = this.#isSettling || log?.id !== this.#log?.id || logCanFollow(this.#log, log)
    if (log?.id === this.#log?.id) this.#log = log
    return isLogOurs ? undefined : overwritten(logOf(path))
  }

  #canFollow(before: FileState, now: FileState): boolean {
    if (now.bytes < before.bytes || !canFollow(before.generation, now.generation, this.#generations.newest)) return false
    // While the path leads elsewhere, every commit goes into the file at once.
    if (this.#isCheckpointing || this.#isSettling || this.#loss !== undefined) return true
    if (now.generation !== before.generation) return isWhole(now)
    return now.changedNs === before.changedNs && now.bytes === before.bytes && now.head === before.head
  }

  #seen(): FileState {
    return stateOfFile(this.#watched.file.handle)
  }
}

const overwritten = (path: string): string => `${path} is another file than the one that is open: it was overwritten`

export const logOf = (path: string): string => `${path}-wal`

/** Undefined where the path still leads to this file. */
export function changeOf(path: string, file: string | undefined): string | undefined {
  const now = fileIdAt(path)
  if (now === file) return undefined
  return now === undefined ? `${path} is gone` : `${path} is another file than the one that is open`
}
