/**
 * Requests that are sent in one turn of the loop leave at its end, one behind the other. A write by itself wakes the process that reads it and may be put aside
 * for it; behind the first, the others find it awake. Rules: platform.md "Sockets".
 */

/** What has something to write. It may have nothing any more when its turn comes. */
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
