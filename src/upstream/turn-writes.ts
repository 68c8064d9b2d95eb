/**
 * Sends all requests of one turn of the loop at its end, one after another. A single write wakes the reading process and may be preempted by it; after the
 * first, the others find it awake. Rules: platform.md "Sockets".
 */

/** A connection with something to write. It may have nothing left when its turn comes. */
type Writing = Readonly<{ writeUnsent(): void }>

export class TurnWrites {
  #due: Writing[] = []

  add(writing: Writing): void {
    if (this.#due.push(writing) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const due = this.#due
    this.#due = []
    for (const writing of due) writing.writeUnsent()
  }
}
