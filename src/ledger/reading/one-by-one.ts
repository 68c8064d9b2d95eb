/** The long questions of a client one after another, so that each holds memory for one answer, and of all clients a few at once. Rules: pages.md "Explore". */

/** More that wait are refused: who clicks on sees the last, and none waits for ten. */
const ASKED_MAX = 4
/** The thread that reads answers one part at a time, so that more at once would be no faster. */
const AT_ONCE = 8

type Line = { asked: number; last: Promise<void> }

export class OneByOne {
  readonly #lines = new Map<string, Line>()
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce = AT_ONCE) {
    this.#free = atOnce
  }

  async run<T>(client: string, work: () => Promise<T>, tooMany: () => T): Promise<T> {
    const end = await this.begin(client)
    if (end === undefined) return tooMany()
    try {
      return await work()
    } finally {
      end()
    }
  }

  /** Resolves when it is the question's turn, with what is to be called once at its end; undefined: too many of the client's wait already. */
  async begin(client: string): Promise<(() => void) | undefined> {
    const line = this.#lines.get(client) ?? { asked: 0, last: Promise.resolve() }
    if (line.asked === ASKED_MAX) return undefined
    this.#lines.set(client, line)
    line.asked++
    const before = line.last
    const { promise, resolve } = Promise.withResolvers<void>()
    line.last = promise
    await before
    await this.#place()
    return () => {
      resolve()
      this.#leave()
      if (--line.asked === 0) this.#lines.delete(client)
    }
  }

  async #place(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes to the client that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}
