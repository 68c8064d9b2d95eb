/**
 * The large answers of an account that are in memory, in the order in which they came: those that are being read, and those that their clients have not taken
 * yet. Where the account's share is full only the first goes on, so that one always fits; the others pause at their upstreams. Rules: requests.md "Memory of
 * bodies".
 */

/** One large answer; it has `go` while it waits. */
export type ReadAnswer = { waiting?: Promise<void> | undefined; go?: (() => void) | undefined }

export class AnswerTurns {
  readonly #isFull: (accountId: string) => boolean
  readonly #reading = new Map<string, Set<ReadAnswer>>()

  /** `isFull`: the account may have no more in memory. */
  constructor(isFull: (accountId: string) => boolean) {
    this.#isFull = isFull
  }

  /** Undefined: the answer goes on now. Otherwise it goes on when the promise resolves. */
  turn(accountId: string, answer: ReadAnswer): Promise<void> | undefined {
    const reading = this.#reading.get(accountId) ?? new Set()
    this.#reading.set(accountId, reading.add(answer))
    if (this.#mayGoOn(accountId, reading, answer)) return undefined
    if (answer.waiting === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>()
      answer.waiting = promise
      answer.go = resolve
    }
    return answer.waiting
  }

  /** Called when the client has taken the answer, or has left; `wake` follows, since its memory is free. */
  end(accountId: string, answer: ReadAnswer): void {
    const reading = this.#reading.get(accountId)
    if (reading?.delete(answer) !== true) return
    go(answer)
    if (reading.size === 0) this.#reading.delete(accountId)
  }

  /** Called when the account has less in memory than before. */
  wake(accountId: string): void {
    const reading = this.#reading.get(accountId)
    for (const answer of reading ?? []) if (reading !== undefined && this.#mayGoOn(accountId, reading, answer)) go(answer)
  }

  #mayGoOn(accountId: string, reading: ReadonlySet<ReadAnswer>, answer: ReadAnswer): boolean {
    const [first] = reading
    return first === answer || !this.#isFull(accountId)
  }
}

function go(answer: ReadAnswer): void {
  answer.go?.()
  answer.go = undefined
  answer.waiting = undefined
}
