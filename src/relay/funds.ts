/**
 * Whether a key can pay, told at once, before its body is read: what the ledger said last, and asked again in the background when that is old. It decides in
 * whose share of the memory a body counts and nothing else; whether a request is admitted is the ledger's to say. Rules: requests.md "Memory of bodies".
 */

import type { KeyRecord } from '../core/key.ts'
import { Recent } from '../core/recent.ts'
import type { Ledger } from '../ledger/ledger.ts'

type Known = { hasFunds: boolean; askedAt: number }

const KEYS_MAX = 100_000
/** How old an answer of the ledger may be before it is asked again. */
const AGE_MS_MAX = 1_000

export class Funds {
  readonly #ledger: Pick<Ledger, 'balanceOf'>
  readonly #now: () => number
  readonly #known = new Recent<Known>(KEYS_MAX)

  /** `now`: milliseconds that never jump. */
  constructor({ ledger, now }: { ledger: Pick<Ledger, 'balanceOf'>; now: () => number }) {
    this.#ledger = ledger
    this.#now = now
  }

  /** True for a key that was never seen, until the ledger has answered: a new customer must not stand in the queue of those who cannot pay. */
  hasFunds({ id }: Pick<KeyRecord, 'id'>): boolean {
    const known = this.#known.get(id) ?? { hasFunds: true, askedAt: Number.NEGATIVE_INFINITY }
    const now = this.#now()
    if (now - known.askedAt >= AGE_MS_MAX) {
      known.askedAt = now
      this.#known.set(id, known)
      this.#ask(id, known).catch(() => undefined)
    }
    return known.hasFunds
  }

  async #ask(keyId: string, known: Known): Promise<void> {
    const balance = await this.#ledger.balanceOf(keyId)
    if (typeof balance === 'object') known.hasFunds = balance.availablePicos > 0n
  }
}
