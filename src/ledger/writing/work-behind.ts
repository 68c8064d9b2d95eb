/**
 * Does what is put off behind the settles while the thread that writes has a moment: a small piece at a time, and for a fifth of its time at most, so that no settle waits
 * behind more than one piece. Rules: ledger.md "Hours".
 */

import type { Store } from './store.ts'

const LOOK_MS = 250
/** After a piece, this many times as long is left to others. */
const PAUSE = 4

export class WorkBehind {
  readonly #store: Pick<Store, 'rollUp'>
  #next: ReturnType<typeof setTimeout> | undefined

  constructor(store: Pick<Store, 'rollUp'>) {
    this.#store = store
    this.#arm(LOOK_MS)
  }

  stop(): void {
    clearTimeout(this.#next)
    this.#next = undefined
  }

  #arm(delayMs: number): void {
    this.#next = setTimeout(() => {
      const startedMs = performance.now()
      const hasMore = this.#store.rollUp()
      this.#arm(hasMore ? PAUSE * (performance.now() - startedMs) : LOOK_MS)
    }, delayMs)
  }
}
