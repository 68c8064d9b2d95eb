/**
 * Hashing takes memory and a core on purpose. Two hashes are made at a time, addresses in turns, so that a client that sends many passwords delays only itself and no
 * paid request waits at all. Rules: pages.md "Failed sign-ins".
 */

import { FairQueue } from '../core/fair-queue.ts'

const AT_ONCE = 2
const WAITING_MAX = { each: 4, all: 256 } as const

export class PasswordTurns {
  readonly #queue = new FairQueue<() => void>()
  #running = 0

  /** Undefined: `work` was not begun, since too many calls of the address, or of all addresses, wait already. */
  async take<T>(address: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#queue.lengthOf(address) >= WAITING_MAX.each || this.#queue.length >= WAITING_MAX.all) return undefined
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#queue.add(address, resolve))
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#queue.take()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
