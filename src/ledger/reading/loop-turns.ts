/**
 * Work over many rows, in pieces between which the loop that serves requests goes on. Of all such work together a turn of the loop has one piece. Rules: requests.md "Heavy
 * bodies"; pages.md "Explore".
 */

/** Yields after each row that it has added, compared or written. */
export type Work<T> = Generator<void, T>

/** For so many rows all of that takes well below a millisecond. */
export const ROWS_OF_TURN = 200

class LoopTurns {
  readonly #waiting: (() => void)[] = []

  readonly next = (): Promise<void> =>
    new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#advance())
    })

  #advance(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) setImmediate(() => this.#advance())
  }
}

/** Those of the process. */
const TURNS = new LoopTurns()
export const nextTurn = TURNS.next

export async function inTurns<T>(work: Work<T>, turn: () => Promise<void> = nextTurn): Promise<T> {
  for (;;) {
    await turn()
    for (let row = 0; row < ROWS_OF_TURN; row++) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
}

/** For a process that serves no requests. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Rows in order; of equal ones the earlier stays first. A merge, because a built-in sort cannot be left in the middle. */
export function* ordered<T extends object>(rows: Iterable<T>, compare: (a: T, b: T) => number): Work<readonly T[]> {
  let from = [...rows]
  for (let width = 1; width < from.length; width *= 2) {
    const to: T[] = []
    for (let start = 0; start < from.length; start += 2 * width) {
      let [left, right] = [start, start + width]
      const [middle, end] = [right, right + width]
      for (;;) {
        const a = left < middle ? from[left] : undefined
        const b = right < end ? from[right] : undefined
        const first = b === undefined || (a !== undefined && compare(a, b) <= 0) ? a : b
        if (first === undefined) break
        if (first === a) left++
        else right++
        to.push(first)
        yield
      }
    }
    from = to
  }
  return from
}

/** The first few in order, and the others as they come, which are compared about once each. */
export function* firstOf<T>(
  rows: readonly T[],
  compare: (a: T, b: T) => number,
  most: number,
): Work<Readonly<{ first: readonly T[]; others: readonly T[] }>> {
  const first: T[] = []
  const others: T[] = []
  for (const row of rows) {
    const last = first.at(-1)
    const isAmong = last === undefined || first.length < most || compare(row, last) < 0
    yield
    if (!isAmong) {
      others.push(row)
      continue
    }
    let [from, to] = [0, first.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const other = first[middle]
      if (other !== undefined && compare(other, row) <= 0) from = middle + 1
      else to = middle
      yield
    }
    first.splice(from, 0, row)
    if (first.length > most) others.push(...first.splice(most))
  }
  return { first, others }
}
