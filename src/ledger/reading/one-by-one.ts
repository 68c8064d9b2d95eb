/** The long questions of a client one after another, so that each holds memory for one answer. Rules: pages.md "Explore". */

/** More that wait are refused: who clicks on sees the last, and none waits for ten. */
const ASKED_MAX = 4

type Line = { asked: number; last: Promise<void> }

export class OneByOne {
  readonly #lines = new Map<string, Line>()

  async run<T>(client: string, work: () => Promise<T>, tooMany: () => T): Promise<T> {
    const line = this.#lines.get(client) ?? { asked: 0, last: Promise.resolve() }
    if (line.asked === ASKED_MAX) return tooMany()
    this.#lines.set(client, line)
    line.asked++
    const before = line.last
    const { promise, resolve } = Promise.withResolvers<void>()
    line.last = promise
    try {
      await before
      return await work()
    } finally {
      resolve()
      if (--line.asked === 0) this.#lines.delete(client)
    }
  }
}
