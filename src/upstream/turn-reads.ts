/**
 * Bounds what is read in one turn of the loop. After a large read Bun reads on in the same turn, up to ten times, from each connection that has more: a connection that
 * brought much waits therefore, and one of those that wait goes on in each turn. Rules: platform.md "Sockets".
 */

/** A connection that waits. It may have ended when its turn comes. */
type Reading = Readonly<{ readOn(): void }>

/** A read of so many bytes is a large one. */
export const LARGE_READ_BYTES = 256 * 1024

export class TurnReads {
  readonly #waiting: Reading[] = []

  add(reading: Reading): void {
    if (this.#waiting.push(reading) === 1) setImmediate(() => this.#next())
  }

  #next(): void {
    this.#waiting.shift()?.readOn()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
  }
}
