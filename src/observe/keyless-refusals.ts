/**
 * Log lines of refusals without a key, which any client can cause at any rate: each address gets one line a second, with the count of the refusals that it stands for. The
 * first refusal of an address is told at once. Memory and lines are bounded: beyond a thousand addresses at once, the rest share one line. Metrics still count each refusal.
 * Rules: operator.md "Log".
 */

import type { RequestLine } from './request-line.ts'

type Told = { sinceMs: number; count: number; last: RequestLine }

const EVERY_MS = 1_000
const ADDRESSES_MAX = 1_000
const OTHERS = 'others'

/** Whether the line is counted here. The line of a bug is not: it belongs to the bug's alarm. */
export const isKeylessRefusal = ({ refusal, keyId }: RequestLine): boolean =>
  refusal !== undefined && refusal !== 'internal' && keyId === undefined

export class KeylessRefusals {
  readonly #write: (line: RequestLine) => void
  readonly #now: () => number
  /** Addresses with a line within the last second, oldest first. */
  readonly #told = new Map<string, Told>()
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `write` gets each line with its `count`. `now`: milliseconds that never jump. */
  constructor(write: (line: RequestLine) => void, now: () => number) {
    this.#write = write
    this.#now = now
  }

  add(line: RequestLine): void {
    const { client = 'unknown' } = line
    const address = this.#told.has(client) || this.#told.size < ADDRESSES_MAX ? client : OTHERS
    const told = this.#told.get(address)
    if (told === undefined) {
      this.#write({ ...line, client: address, count: 1 })
      this.#told.set(address, { sinceMs: this.#now(), count: 0, last: line })
      this.#wait()
    } else {
      told.count++
      told.last = line
    }
  }

  /** Writes what is still only counted, before the log ends. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [address, told] of this.#told) this.#tell(address, told)
    this.#told.clear()
  }

  #wait(): void {
    const [oldest] = this.#told.values()
    if (this.#timer !== undefined || oldest === undefined) return
    this.#timer = setTimeout(() => this.#tellDue(), Math.max(1, oldest.sinceMs + EVERY_MS - this.#now()))
    this.#timer.unref()
  }

  #tellDue(): void {
    this.#timer = undefined
    const now = this.#now()
    for (const [address, told] of this.#told) {
      if (now - told.sinceMs < EVERY_MS) break
      this.#told.delete(address)
      if (told.count === 0) continue
      this.#tell(address, told)
      this.#told.set(address, { sinceMs: now, count: 0, last: told.last })
    }
    this.#wait()
  }

  #tell(address: string, { count, last }: Told): void {
    if (count > 0) this.#write({ ...last, client: address, count })
  }
}
