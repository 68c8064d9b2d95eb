/**
 * Items of earlier answers that a request refers to. A body of a few bytes can name megabytes, so the items count in its account's memory. Large items, and those that
 * must come from disk, are read on the thread for heavy bodies. Rules: requests.md "Remembered answers", "Heavy bodies".
 */

import { parseExact } from '../core/bytes/exact-json.ts'
import type { Forgotten } from '../core/format.ts'
import { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'
import type { Bringing } from './remembering.ts'

type Items = readonly Uint8Array[]

export type ReferencedItemsParts = Readonly<{
  /** Finds the items under an id in memory, each as JSON. */
  find: (id: string) => Items | Forgotten
  lease: Pick<BodyLease, 'grow'>
  /** The bytes of the body itself. */
  bytes: number
}>

/** Items that memory has, found without a wait. `isKept`: others may be on disk. */
export class ReferencedItems {
  readonly #parts: ReferencedItemsParts
  readonly #isKept: boolean
  readonly #givenBytesMax: number
  readonly #counted: Counted
  #isHeavy = false

  /** At most `givenBytesMax` of items are returned. */
  constructor(parts: ReferencedItemsParts, isKept: boolean, givenBytesMax: number) {
    this.#parts = parts
    this.#isKept = isKept
    this.#givenBytesMax = givenBytesMax
    this.#counted = new Counted(parts)
  }

  /** The refusal where the items had no room in memory: whatever was made of the request is not to be used then. */
  get refusal(): Refusal | undefined {
    return this.#counted.refusal
  }

  /** True where the items are too large to be read here, or have to be waited for: whatever was made of the request is not to be used then. */
  get isHeavy(): boolean {
    return this.#isHeavy
  }

  readonly parsed = (id: string): readonly unknown[] | Forgotten => {
    if (this.#isHeavy || this.refusal !== undefined) return []
    const items = this.#parts.find(id)
    if (typeof items === 'string' && !this.#isKept) return items
    this.#isHeavy = typeof items === 'string' || this.#counted.recalledBytes + lengthOf(items) > this.#givenBytesMax
    if (typeof items === 'string' || this.#isHeavy || this.#counted.add(lengthOf(items)) !== undefined) return []
    return items.map((json) => parseExact(Buffer.from(json).toString()))
  }
}

/** The items for a reader on a thread, where a wait stops no stream. */
export class AwaitedReferencedItems {
  readonly #parts: ReferencedItemsParts
  readonly #counted: Counted
  readonly #bringing: Bringing | undefined

  /** `bringing`: makes the part that brings answers from disk; it gets a function that counts their bytes. */
  constructor(parts: ReferencedItemsParts, bringing: (count: (bytes: number) => Refusal | undefined) => Bringing | undefined) {
    this.#parts = parts
    this.#counted = new Counted(parts)
    this.#bringing = bringing((bytes) => this.#counted.add(bytes))
  }

  get refusal(): Refusal | undefined {
    return this.#counted.refusal
  }

  /** Counts what else was made of the request. */
  count(bytes: number): void {
    if (bytes > 0) this.#counted.add(bytes)
  }

  readonly written = (id: string): Items | Forgotten | Promise<Items | Forgotten> => {
    if (this.refusal !== undefined) return []
    const items = this.#parts.find(id)
    if (typeof items !== 'string') return this.#counted.add(lengthOf(items)) === undefined ? items : []
    return this.#bringing === undefined ? items : this.#bring(this.#bringing, id, items)
  }

  /** Where the disk has nothing either, memory's reason is returned. */
  async #bring(bringing: Bringing, id: string, why: Forgotten): Promise<Items | Forgotten> {
    const found = await bringing.find(id)
    if (!(found instanceof Refusal)) return found === 'unknown' ? why : found
    this.#counted.refusal ??= found
    return []
  }
}

/** Counts referenced bytes, with the body's, in the account's memory. */
class Counted {
  readonly #parts: Pick<ReferencedItemsParts, 'lease' | 'bytes'>
  recalledBytes = 0
  refusal: Refusal | undefined

  constructor(parts: Pick<ReferencedItemsParts, 'lease' | 'bytes'>) {
    this.#parts = parts
  }

  add(bytes: number): Refusal | undefined {
    this.recalledBytes += bytes
    this.refusal ??= this.#parts.lease.grow(this.#parts.bytes + this.recalledBytes)
    return this.refusal
  }
}

const lengthOf = (items: Items): number => items.reduce((sum, { byteLength }) => sum + byteLength, 0)
