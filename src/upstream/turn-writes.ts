/**
 * Sends all requests of one turn of the loop at its end, one after another. A single write wakes the reading process, which may preempt this one; the writes after the
 * first find the reader awake. Rules: platform.md "Sockets".
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
