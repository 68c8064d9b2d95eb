/**
 * What a request refers to of earlier answers. A body of a few bytes can name megabytes, which then are its own: they count in its account's memory, and are
 * read where large bodies are. Rules: requests.md "Remembered answers", "Large bodies".
 */

import { parseExact } from '../core/bytes/exact-json.ts'
import type { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'

/** The items under an id, each as JSON; undefined where none are known. */
type Written = (id: string) => readonly Uint8Array[] | undefined

export class Recalling {
  readonly #find: Written
  readonly #lease: Pick<BodyLease, 'grow'>
  readonly #bytesMax: number
  #bytes: number
  #refusal: Refusal | undefined
  #isLarge = false

  /** `bytes`: of the body itself. What would make more than `bytesMax` with it is not given out. */
  constructor(find: Written, lease: Pick<BodyLease, 'grow'>, bytes: number, bytesMax = Number.POSITIVE_INFINITY) {
    this.#find = find
    this.#lease = lease
    this.#bytes = bytes
    this.#bytesMax = bytesMax
  }

  /** It had no room in memory: whatever was made of the request is not to be used. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** It would have been too much: whatever was made of the request is not to be used. */
  get isLarge(): boolean {
    return this.#isLarge
  }

  readonly written: Written = (id) => {
    const items = this.#find(id)
    if (items === undefined || this.#refusal !== undefined || this.#isLarge) return items === undefined ? undefined : []
    this.#bytes += items.reduce((sum, { byteLength }) => sum + byteLength, 0)
    this.#isLarge = this.#bytes >= this.#bytesMax
    if (!this.#isLarge) this.#refusal = this.#lease.grow(this.#bytes)
    return this.#isLarge || this.#refusal !== undefined ? [] : items
  }

  readonly parsed = (id: string): readonly unknown[] | undefined =>
    this.written(id)?.map((json) => parseExact(Buffer.from(json).toString()))
}
