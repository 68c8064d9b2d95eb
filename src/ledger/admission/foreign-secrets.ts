/**
 * Which secrets of imported keys the ledger may have: read once, when a client first sends what is no secret of ours, and again after each import. Rules: keys.md
 * "Imported keys".
 */

import { type ForeignHeads, hasHead, headOf, withoutChannel } from '../../core/foreign-secret.ts'
import type { Ledger } from '../ledger.ts'
import { hashOf } from '../operations/secret-hash.ts'

export type ForeignOptions = Readonly<{
  /** False when an answer of that time may lack an import that no message told of. Monotonic milliseconds. */
  isCurrent: (askedAtMs: number) => boolean
  monotonicMs: () => number
}>

/** The hash under which the ledger may have the key; `none`: the ledger has no such secret; `malformed`: it has no foreign secrets at all. */
type Sought = Uint8Array | 'none' | 'malformed' | 'unavailable'

export class ForeignSecrets {
  readonly #ledger: Pick<Ledger, 'foreignHeads'>
  readonly #options: ForeignOptions
  #known: Readonly<{ heads: ForeignHeads; askedAtMs: number }> | undefined
  #asked: Promise<ForeignHeads | 'unavailable'> | undefined

  constructor(ledger: Pick<Ledger, 'foreignHeads' | 'onImport'>, options: ForeignOptions) {
    this.#ledger = ledger
    this.#options = options
    ledger.onImport(() => {
      this.#known = undefined
      this.#asked = undefined
    })
  }

  /** `hash`: that of the secret. A promise only where the ledger must be asked which foreign secrets it has. */
  seek(secret: string, hash: Uint8Array): Sought | Promise<Sought> {
    const known = this.#known
    if (known !== undefined && this.#options.isCurrent(known.askedAtMs)) return sought(known.heads, secret, hash)
    this.#asked ??= this.#ask()
    return this.#asked.then((heads) => (heads === 'unavailable' ? heads : sought(heads, secret, hash)))
  }

  #ask(): Promise<ForeignHeads | 'unavailable'> {
    const askedAtMs = this.#options.monotonicMs()
    const asked = this.#ledger.foreignHeads().then((heads) => {
      // An import meanwhile has made the answer old.
      if (this.#asked !== asked) return heads
      this.#asked = undefined
      if (heads !== 'unavailable') this.#known = { heads, askedAtMs }
      return heads
    })
    return asked
  }
}

/** The exact secret comes first; only then is a channel looked for. */
function sought({ exact, channel }: ForeignHeads, secret: string, hash: Uint8Array): Sought {
  if (exact.length === 0 && channel.length === 0) return 'malformed'
  const head = headOf(hash)
  if (hasHead(exact, head) || hasHead(channel, head)) return hash
  const key = channel.length === 0 ? undefined : withoutChannel(secret)
  if (key === undefined) return 'none'
  const ofKey = hashOf(key)
  return hasHead(channel, headOf(ofKey)) ? ofKey : 'none'
}
