/**
 * What a request refers to of earlier answers. A body of a few bytes can name megabytes, which then are its own: they count in its account's memory, and are
 * read where heavy bodies are. Rules: requests.md "Remembered answers", "Heavy bodies".
 */

import { parseExact } from '../core/bytes/exact-json.ts'
import type { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'

/** The items under an id, each as JSON; undefined where none are known. */
type Written = (id: string) => readonly Uint8Array[] | undefined

export class Recalling {
  readonly #find: Written
  readonly #lease: Pick<BodyLease, 'grow'>
  readonly #recalledBytesMax: number
  #bytes: number
  #recalledBytes = 0
  #refusal: Refusal | undefined
  #isHeavy = false

  /** `bytes`: of the body itself. Of what it refers to no more than `recalledBytesMax` is given out. */
  constructor(find: Written, lease: Pick<BodyLease, 'grow'>, bytes: number, recalledBytesMax = Number.POSITIVE_INFINITY) {
    this.#find = find
    this.#lease = lease
    this.#bytes = bytes
    this.#recalledBytesMax = recalledBytesMax
  }

  /** It had no room in memory: whatever was made of the request is not to be used. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** It would have been too much: whatever was made of the request is not to be used. */
  get isHeavy(): boolean {
    return this.#isHeavy
  }

  readonly written: Written = (id) => {
    const items = this.#find(id)
    if (items === undefined || this.#refusal !== undefined || this.#isHeavy) return items === undefined ? undefined : []
    const bytes = items.reduce((sum, { byteLength }) => sum + byteLength, 0)
    this.#recalledBytes += bytes
    this.#bytes += bytes
    this.#isHeavy = this.#recalledBytes > this.#recalledBytesMax
    if (!this.#isHeavy) this.#refusal = this.#lease.grow(this.#bytes)
    return this.#isHeavy || this.#refusal !== undefined ? [] : items
  }

  readonly parsed = (id: string): readonly unknown[] | undefined =>
    this.written(id)?.map((json) => parseExact(Buffer.from(json).toString()))
}
