/**
 * Sends all requests of one turn of the loop at its end, one after another. A single write wakes the reading process, which may preempt this one; the writes after the
 * first find the reader awake. Large ones share what a turn writes. Rules: platform.md "Sockets".
 */

/** A connection with something to write. It may have nothing left when its turn comes. */
type Writing = Readonly<{
  unsentBytes: number
  /** Offers the kernel at most so many bytes; returns how many it took. */
  writeUnsent(bytesMax: number): number
}>

/** What large requests write in one turn. The kernel would take megabytes at once, and the loop would stand still while the kernel copies them, or TLS encrypts them. */
const TURN_BYTES_MAX = 512 * 1024
/** A request with no more than this left to write waits for no other one. */
const LITTLE_BYTES = 64 * 1024

export class TurnWrites {
  #due: Writing[] = []
  #isScheduled = false

  add(writing: Writing): void {
    this.#due.push(writing)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    const due = this.#due
    const later: Writing[] = []
    this.#due = []
    this.#isScheduled = false
    let room = TURN_BYTES_MAX
    for (const writing of due) {
      if (writing.unsentBytes <= LITTLE_BYTES) writing.writeUnsent(LITTLE_BYTES)
      else if (room > 0) room -= writing.writeUnsent(room)
      else later.push(writing)
    }
    if (later.length === 0) return
    // Those that have written stand behind those that have waited.
    this.#due = [...later, ...this.#due]
    this.#schedule()
  }
}
