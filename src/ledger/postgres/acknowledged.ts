/**
 * Keeps in memory what this node has acknowledged in the last minute: should Postgres lose the rows, they are written again. A settle is kept as a record of about 450 bytes.
 * Rules: nodes.md "After a failover".
 */

import { fitsRecord, type NumberedDebit, readDebits, writeDebits } from '../debit-records.ts'
import type { Answer, Debit, Task } from '../task.ts'
import type { Spilled } from '../writing/spill-records.ts'

export type Act = Extract<Task, { kind: 'operate' }>
export type Release = Extract<Task, { kind: 'dropCheckpoint' | 'attempts' }>

type Group = Readonly<{
  atMs: number
  bytes: number
  debits: Uint8Array
  acts: readonly Act[]
  releases: readonly Release[]
  frames: readonly Spilled[]
}>

const KEPT_MS = 60_000
/** Enough for about 2,400 settles a second for a minute. */
const BYTES_MAX = 64 * 1024 * 1024
/** How many bytes each write that is no settle counts for. */
const OTHER_BYTES = 1_024

export class Acknowledged {
  readonly #monotonicMs: () => number
  #groups: Group[] = []
  /** The index of the first group that is kept; those before it are forgotten. */
  #first = 0
  #bytes = 0
  #isShort = false
  /** Ids of keys by number, because after a failover the same number may belong to another key. */
  readonly #keyIds = new Map<number, string>()
  readonly #newKeys = new Set<number>()

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  /** Whether the room was too small for the whole minute. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** `answers`: in the order of the tasks; a task without an answer was not done. */
  note(tasks: readonly Task[], answers: readonly (Answer | undefined)[]): void {
    const debits: NumberedDebit[] = []
    const acts: Act[] = []
    const releases: Release[] = []
    tasks.forEach((task, index) => {
      const answer = answers[index]
      if (answer === undefined || answer === 'unavailable') return
      if (task.kind === 'settle') {
        if (fitsRecord(task.debit)) debits.push({ number: 0, debit: task.debit })
      } else if (task.kind === 'operate') {
        if (typeof answer === 'object' && 'isNew' in answer && answer.isNew) acts.push(task)
      } else if (task.kind === 'dropCheckpoint' || task.kind === 'attempts') releases.push(task)
    })
    for (const { debit } of debits) this.#noteKey(debit.keyNumber)
    this.#add(debits, { acts, releases, frames: [] })
  }

  /** To be called when the frames of a spill were written into the rows. */
  noteReplayed(frames: readonly Spilled[]): void {
    this.#add([], { acts: [], releases: [], frames })
  }

  /** The numbers of keys whose ids must still be learned with `learnKeys`. */
  get newKeys(): readonly number[] {
    return [...this.#newKeys]
  }

  learnKeys(keys: readonly Readonly<{ number: number; id: string }>[]): void {
    for (const { number, id } of keys) this.#keyIds.set(number, id)
    this.#newKeys.clear()
    for (const number of this.#keyIds.keys()) {
      if (this.#keyIds.size <= KEYS_MAX) return
      this.#keyIds.delete(number)
    }
  }

  /** The id of the key with this number; undefined: it was not learned. */
  keyId(number: number): string | undefined {
    return this.#keyIds.get(number)
  }

  /** The debits in the order in which they were acknowledged. */
  debits(): readonly Debit[] {
    return this.#kept().flatMap(({ debits }) => readDebits(debits).map(({ debit }) => debit))
  }

  acts(): readonly Act[] {
    return this.#kept().flatMap(({ acts }) => acts)
  }

  releases(): readonly Release[] {
    return this.#kept().flatMap(({ releases }) => releases)
  }

  frames(): readonly Spilled[] {
    return this.#kept().flatMap(({ frames }) => frames)
  }

  /** Notes a key as charged last, so that it is the last to be forgotten. */
  #noteKey(number: number): void {
    const id = this.#keyIds.get(number)
    if (id === undefined) {
      this.#newKeys.add(number)
      return
    }
    this.#keyIds.delete(number)
    this.#keyIds.set(number, id)
  }

  #kept(): readonly Group[] {
    return this.#groups.slice(this.#first)
  }

  #add(numbered: readonly NumberedDebit[], others: Pick<Group, 'acts' | 'releases' | 'frames'>): void {
    const { acts, releases, frames } = others
    const count = acts.length + releases.length + frames.reduce((sum, { debits }) => sum + debits.length, 0)
    if (numbered.length + count === 0) return
    // The records are copied, because their buffer is larger than they are.
    const debits = new Uint8Array(writeDebits(numbered))
    const bytes = debits.byteLength + count * OTHER_BYTES
    const atMs = this.#monotonicMs()
    this.#groups.push({ atMs, bytes, debits, ...others })
    this.#bytes += bytes
    this.#forgetOld(atMs)
  }

  #forgetOld(nowMs: number): void {
    for (let oldest = this.#groups[this.#first]; oldest !== undefined; oldest = this.#groups[this.#first]) {
      const isOld = nowMs - oldest.atMs > KEPT_MS
      if (!isOld && this.#bytes <= BYTES_MAX) break
      this.#isShort = !isOld
      this.#bytes -= oldest.bytes
      this.#first++
    }
    if (this.#first < GONE_MAX) return
    this.#groups = this.#groups.slice(this.#first)
    this.#first = 0
  }
}

/** How many forgotten groups may still be in the list. */
const GONE_MAX = 4_096
/** The most keys whose ids are kept: more than the debits for which there is room, each of which may be of another key. */
const KEYS_MAX = 200_000
