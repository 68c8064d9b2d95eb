/** Keeps settles and releases on disk while the ledger cannot be written, and replays them once. Rules: ledger.md "Spill". */

import { problemOf } from '../../../db/problem.ts'
import type { Debit, Task } from '../task.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { SpillFile } from './spill-file.ts'
import { canSpill, frameOf, readFrame } from './spill-records.ts'
import type { NotApplied, Replayed, Store } from './store.ts'

export const spillPathOf = (ledgerPath: string): string => `${ledgerPath}.spill`

/** Of the settles that are kept: their accounts, and the hashes of the Idempotency-Keys that they use up, as texts. */
type Kept = Readonly<{ accounts: Set<number>; headers: Set<string> }>

const textOf = (headerHash: Uint8Array): string => Buffer.from(headerHash).toString('latin1')

function note({ accountNumber, idempotency }: Debit, { accounts, headers }: Kept): void {
  accounts.add(accountNumber)
  if (idempotency !== undefined) headers.add(textOf(idempotency.headerHash))
}

export class Spill {
  readonly #file: SpillFile | undefined
  readonly #ledger: Store
  /** Undefined until it is asked for: reading the whole spill takes long. */
  #kept: Kept | undefined

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
    if (this.#kept !== undefined) for (const task of kept) if (task.kind === 'settle') note(task.debit, this.#kept)
    return true
  }

  /** The accounts whose settles the spill keeps. */
  accounts(): ReadonlySet<number> {
    return new Set(this.#read().accounts)
  }

  /** Whether a settle that the spill keeps uses up an Idempotency-Key with this hash; which key sent it, the spill does not tell. */
  usesUp(headerHash: Uint8Array): boolean {
    return !this.isEmpty && this.#read().headers.has(textOf(headerHash))
  }

  #read(): Kept {
    if (this.#kept !== undefined) return this.#kept
    const kept: Kept = { accounts: new Set(), headers: new Set() }
    for (const frame of this.#file?.frames ?? []) for (const debit of readFrame(frame).debits) note(debit, kept)
    this.#kept = kept
    return kept
  }

  /** Writes all entries into the ledger. An entry that was written before changes nothing, and if the replay fails, the spill keeps all entries. */
  replay(onStep?: () => void): Replayed | NotApplied {
    if (this.#file === undefined || this.isEmpty) return { kind: 'replayed', settled: [], faults: [] }
    const replayed = this.#ledger.replay(this.#file.frames.map(readFrame), onStep)
    if (replayed.kind === 'failed') return replayed
    this.#file.clear()
    this.#kept = undefined
    return replayed
  }

  close(): void {
    this.#file?.close()
  }
}
