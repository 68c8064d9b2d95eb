/**
 * Checks that the open file and its log have what was written here and nothing else. Between WAL checkpoints the file does not change: a change that no checkpoint
 * explains, ours or another program's, is an overwrite. Rules: ledger.md "A ledger that is overwritten".
 */

import type { LockedFile } from '../place.ts'
import { type FileState, fileCanFollow, isEmpty, isSameFile, type LogState, logCanFollow, stateOfFile, stateOfLog } from './file-state.ts'
import { canFollow } from './generation.ts'
import { CheckpointLock } from './log-progress.ts'
import type { SqliteStore } from './store.ts'

type Watched = Readonly<{ path: string; file: LockedFile }>
type WatchedStore = Pick<SqliteStore, 'progress' | 'generations' | 'advanceGeneration'>

/** How many looks in a row must be suspect: if another program empties the log again and again beside our own checkpoints, two looks in a row are, about once in a thousand. */
const SUSPECT_LOOKS = 3

export class ContentWatch {
  readonly #watched: Watched
  readonly #store: WatchedStore
  readonly #checkpointLock: CheckpointLock
  #file: FileState
  /** At the last look in turn. */
  #inTurn: FileState
  #log: LogState | undefined
  /** The file and the log's progress at the last look at which no checkpoint ran and every change was explained. */
  #known: Readonly<{ file: FileState; moved: number }>
  #suspect: string | undefined
  /** How many looks in a row have found something suspect. */
  #suspectLooks = 0

  constructor(watched: Watched, store: WatchedStore) {
    this.#watched = watched
    this.#store = store
    this.#checkpointLock = new CheckpointLock(watched.path)
    this.#file = this.#seen()
    this.#inTurn = this.#file
    this.#known = { file: this.#file, moved: store.progress.moved }
    this.#advance()
  }

  get file(): FileState {
    return this.#file
  }

  /** The state of the log at the last look that explained it. */
  get log(): LogState | undefined {
    return this.#log
  }

  /** The path of a file with a change that is not explained so far. */
  get suspect(): string | undefined {
    return this.#suspect
  }

  /**
   * Returns the path of what was overwritten. `isOurs`: a checkpoint of ours runs, or every commit goes into the file at once. `mayAdvance`: whether a new generation
   * may be written once the newest one is in the file. `isInTurn`: as long after the last one as a look is; the others judge nothing, since checkpoints may be asked for within milliseconds.
   */
  look({ isOurs, mayAdvance, isInTurn }: Readonly<{ isOurs: boolean; mayAdvance: boolean; isInTurn: boolean }>): string | undefined {
    const { path } = this.#watched
    const before = this.#file
    // The order matters: if a checkpoint changes something after one of these questions, the next look's answers explain the change.
    const { frames, moved } = this.#store.progress
    const now = this.#seen()
    const log = stateOfLog(logOf(path))
    this.#file = now
    if (!canFollow(before.generation, now.generation, this.#store.generations.newest) || !fileCanFollow(before, now)) return path
    const isStill = isSameFile(now, before)
    const isResting = isInTurn && isSameFile(now, this.#inTurn)
    if (isInTurn) this.#inTurn = now
    const suspect = this.#whatIsSuspect(now, log, { frames, moved, isOurs })
    this.#suspectLooks = suspect === undefined ? 0 : this.#suspectLooks + (isInTurn ? 1 : 0)
    // The file must not have changed since the last look in turn: otherwise a checkpoint may be writing it.
    if (isResting && this.#suspectLooks >= SUSPECT_LOOKS && !this.#checkpointLock.isHeld()) return suspect
    this.#suspect = suspect
    if (suspect !== undefined) return undefined
    if (log !== undefined && log.id === this.#log?.id && !isEmpty(log)) this.#log = log
    if ((isStill || isOurs) && !this.#checkpointLock.isHeld()) this.#known = { file: now, moved }
    if (mayAdvance && now.generation === this.#store.generations.newest) this.#advance()
    return undefined
  }

  /** Whether the log is what it was, and has since only become longer. */
  isStillLog(before: LogState | undefined): boolean {
    const { frames } = this.#store.progress
    const now = stateOfLog(logOf(this.#watched.path))
    if (before === undefined || now === undefined) return false
    return now.id === before.id && now.salt === before.salt && logCanFollow(before, now, frames, this.#file)
  }

  #whatIsSuspect(
    now: FileState,
    log: LogState | undefined,
    { frames, moved, isOurs }: Readonly<{ frames: number; moved: number; isOurs: boolean }>,
  ): string | undefined {
    const { known, path } = { known: this.#known, path: this.#watched.path }
    // A log begins anew only when all of it is in the file, with the newest generation. If another program makes it begin anew, its salt may be any.
    const isNewer = now.generation !== known.file.generation
    if (log?.id === this.#log?.id && !logCanFollow(isNewer ? undefined : this.#log, log, frames, now)) return logOf(path)
    return isOurs || isNewer || moved !== known.moved || isSameFile(now, known.file) ? undefined : path
  }

  /** Writes a new generation. Its commit may make the log begin anew, so the log is read again. */
  #advance(): void {
    this.#store.advanceGeneration()
    this.#log = stateOfLog(logOf(this.#watched.path))
    const { moved } = this.#store.progress
    if (isSameFile(this.#seen(), this.#known.file)) this.#known = { ...this.#known, moved }
  }

  #seen(): FileState {
    return stateOfFile(this.#watched.file.handle)
  }
}

export const logOf = (path: string): string => `${path}-wal`
