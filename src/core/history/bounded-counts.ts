/**
 * Requests of each account, for the accounts with the most: the memory is bounded whatever number of accounts call, and what is not counted by itself is counted
 * together. An account that grows may come late into its own count, so a count may be too low, and never too high. Rules: pages.md "History".
 */

/** `account`: '' for the accounts that are not counted by themselves, and for requests without one. */
export type AccountRow = Readonly<{ account: string; requests: number; refused: number }>

type Count = { requests: number; refused: number }

/** How many accounts are counted for each that is shown, so that one of many that grows is not missed. */
const ROOM = 4

export class BoundedCounts {
  readonly #shown: number
  readonly #counts = new Map<string, Count>()
  readonly #others: Count = { requests: 0, refused: 0 }

  /** `shown`: how many accounts have a row. */
  constructor(shown: number) {
    this.#shown = shown
  }

  /** `account`: '' for none. */
  add(account: string, requests: number, isRefused: boolean): void {
    const count = this.#countOf(account)
    count.requests += requests
    if (isRefused) count.refused += requests
  }

  addAll(other: BoundedCounts): void {
    for (const [account, { requests, refused }] of [...other.#counts, ['', other.#others] as const]) {
      const count = this.#countOf(account)
      count.requests += requests
      count.refused += refused
    }
  }

  /** The largest first; the row of all others has the account ''. */
  rows(): readonly AccountRow[] {
    const sorted = [...this.#counts].toSorted(([, a], [, b]) => b.requests - a.requests)
    const others = { ...this.#others }
    for (const [, { requests, refused }] of sorted.slice(this.#shown)) {
      others.requests += requests
      others.refused += refused
    }
    const rows = sorted.slice(0, this.#shown).map(([account, count]) => ({ account, ...count }))
    return others.requests === 0 ? rows : [...rows, { account: '', ...others }]
  }

  #countOf(account: string): Count {
    if (account === '') return this.#others
    const known = this.#counts.get(account)
    if (known !== undefined) return known
    if (this.#counts.size >= this.#shown * ROOM) return this.#others
    const count = { requests: 0, refused: 0 }
    this.#counts.set(account, count)
    return count
  }
}
