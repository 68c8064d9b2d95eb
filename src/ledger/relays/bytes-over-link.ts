/** The bytes of bodies that this relay has let in, told to the other relays once they are a part of the minute that matters. Rules: processes.md "Shared". */

import { boundedMap } from '../../core/bounded-map.ts'
import type { SharedBytes } from '../shared-limits.ts'
import type { RelayLink } from './link.ts'
import type { SentTold } from './sent-bytes.ts'

/** Less than this part of the minute is not told: most bodies are so small that their accounts never come near the limit. */
const TOLD_PART = 1 / 256
const ACCOUNTS_MAX = 100_000

export class BytesOverLink implements SharedBytes {
  readonly #link: () => Pick<RelayLink, 'tell' | 'isAway'>
  readonly #untold = boundedMap<number>(ACCOUNTS_MAX)
  #listener: Parameters<SharedBytes['onTold']>[0] = () => undefined

  constructor(link: () => Pick<RelayLink, 'tell' | 'isAway'>) {
    this.#link = link
  }

  /** While the ledger process is away nothing is told: the next body after that tells all. */
  add(accountId: string, bytes: number, perMinute: number): void {
    const untold = (this.#untold.get(accountId) ?? 0) + bytes
    if (untold < perMinute * TOLD_PART || this.#link().isAway) {
      this.#untold.set(accountId, untold)
      return
    }
    this.#untold.delete(accountId)
    this.#link().tell({ kind: 'sent', accountId, bytes: untold, perMinute })
  }

  onTold(listener: Parameters<SharedBytes['onTold']>[0]): void {
    this.#listener = listener
  }

  hear({ accountId, aheadMs }: SentTold): void {
    this.#listener(accountId, aheadMs)
  }
}
