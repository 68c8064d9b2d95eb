/** Keeps settles and releases on disk while the ledger cannot be written, and replays them once. Rules: ledger.md "Spill". */

import { problemOf } from '../../../db/problem.ts'
import type { Task } from '../task.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { SpillFile } from './spill-file.ts'
import { canSpill, frameOf, readFrame, type Spilled } from './spill-records.ts'
import type { NotApplied, Replayed, Store } from './store.ts'

export const spillPathOf = (ledgerPath: string): string => `${ledgerPath}.spill`

export class Spill {
  readonly #file: SpillFile | undefined
  readonly #ledger: Store
  /** The accounts, once they were asked for: reading the whole spill takes long. */
  #accounts: Set<number> | undefined

  private constructor(file: SpillFile | undefined, ledger: Store) {
    this.#file = file
    this.#ledger = ledger
  }

  /** `bytes`: the size of the spill; 0 for a process that keeps nothing and only replays what an earlier one kept. */
  static open(path: string, ledger: Store, bytes: number): Spill | OpenProblem {
    const spillPath = spillPathOf(path)
    try {
      const file = SpillFile.open(spillPath, ledger.id, bytes > 0)
      if (file !== 'foreign') return new Spill(file, ledger)
      return { problem: 'unwritable', message: `${spillPath} holds charges of another ledger: move it to where that one is` }
    } catch (error) {
      const { message } = problemOf(error, spillPath)
      return { problem: 'unwritable', message }
    }
  }

  get isEmpty(): boolean {
    return this.#file === undefined || this.#file.frames.length === 0
  }

  /** The size of the entries that are kept and not replayed yet. */
  get bytes(): number {
    return this.#file?.bytes ?? 0
  }

  /** Throws what the file system says when there is no room. */
  reserve(bytes: number): void {
    this.#file?.reserve(bytes)
  }

  /** True: all tasks are kept and flushed. False: none is kept. */
  keep(tasks: readonly Task[]): boolean {
    const kept = tasks.filter(canSpill)
    if (kept.length === 0 || this.#file?.append(frameOf(kept, (index) => this.#ledger.versionAt(index), this.#ledger.boot)) !== true)
      return false
    for (const task of kept) if (task.kind === 'settle') this.#accounts?.add(task.debit.accountNumber)
    return true
  }

  /** The accounts whose settles the spill keeps. */
  accounts(): ReadonlySet<number> {
    const spilled = (): readonly Spilled[] => this.#file?.frames.map(readFrame) ?? []
    this.#accounts ??= new Set(spilled().flatMap(({ debits }) => debits.map(({ accountNumber }) => accountNumber)))
    return new Set(this.#accounts)
  }

  /** Writes all entries into the ledger. An entry that was written before changes nothing, and if the replay fails, the spill keeps all entries. */
  replay(onStep?: () => void): Replayed | NotApplied {
    if (this.#file === undefined || this.isEmpty) return { kind: 'replayed', settled: [], faults: [] }
    const replayed = this.#ledger.replay(this.#file.frames.map(readFrame), onStep)
    if (replayed.kind === 'failed') return replayed
    this.#file.clear()
    this.#accounts = undefined
    return replayed
  }

  close(): void {
    this.#file?.close()
  }
}
