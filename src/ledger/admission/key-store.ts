/**
 * Key records in memory: a known secret is found without waiting, an unknown one asks the ledger once. Balances are never kept here, because only the ledger decides on them.
 * Rules: keys.md "Key records"; nodes.md "Notifications". A changed key is forgotten in the same turn in which its change is committed.
 */

import { type BoundedMap, boundedMap } from '../../core/bounded-map.ts'
import { isSecret, type KeyRecord } from '../../core/key.ts'
import type { Ledger } from '../ledger.ts'
import { hashOf, hashTextOf } from '../operations/secret-hash.ts'

export type KeyStoreOptions = Readonly<{
  now: () => number
  recordsMax?: number
  unknownsMax?: number
  /** How long a record is kept without being asked for again. A safety net only, because `onKeyChange` tells of changes. */
  recordTtlMs?: number
  /** How long a secret that the ledger does not know is refused without asking again. */
  unknownTtlMs?: number
  /** False when the answer to a question of that time is stale: another process may have changed the key without a message. Monotonic milliseconds; default: always true. */
  isCurrent?: (askedAtMs: number) => boolean
  monotonicMs?: () => number
  /** Decides how long to wait for the ledger; default: until it answers. */
  whileHeard?: (asking: Promise<Found>) => Promise<Found>
}>

type Found = KeyRecord | undefined | 'unavailable'
/** `askedAtMs`: when the ledger was asked, by the monotonic clock. */
type Cached = Readonly<{ record: KeyRecord; until: number; askedAtMs: number }>
type Unknown = Readonly<{ until: number; askedAtMs: number }>

export class KeyStore {
  readonly #ledger: Pick<Ledger, 'findKey'>
  readonly #now: () => number
  readonly #recordTtlMs: number
  readonly #unknownTtlMs: number
  readonly #isCurrent: (askedAtMs: number) => boolean
  readonly #monotonicMs: () => number
  readonly #whileHeard: (asking: Promise<Found>) => Promise<Found>
  readonly #records: BoundedMap<Cached>
  /** Hashes of unknown secrets, and until when they count as unknown. They are kept apart from the records, so that guesses cannot push keys out. */
  readonly #unknowns: BoundedMap<Unknown>
  readonly #hashesOfKey = new Map<string, Set<string>>()
  readonly #asked = new Map<string, Promise<Found>>()
  /** Counts changes: an answer that was on its way during a change may be older than the change, and is not kept. */
  #changes = 0

  constructor(ledger: Pick<Ledger, 'findKey' | 'onKeyChange'>, options: KeyStoreOptions = { now: Date.now }) {
    this.#ledger = ledger
    this.#now = options.now
    this.#recordTtlMs = options.recordTtlMs ?? 30_000
    this.#unknownTtlMs = options.unknownTtlMs ?? 5_000
    this.#isCurrent = options.isCurrent ?? (() => true)
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#whileHeard = options.whileHeard ?? ((asking) => asking)
    this.#records = boundedMap(options.recordsMax ?? 100_000, (cached, hash) => this.#unlink(cached.record.id, hash))
    this.#unknowns = boundedMap(options.unknownsMax ?? 10_000)
    ledger.onKeyChange(({ keyId }) => this.#forget(keyId))
  }

  /** The record of a live, disabled or expired key; undefined: no such key, or the secret was rotated away. The record is returned without waiting when it is known. */
  find(secret: string): Found | Promise<Found> {
    const hash = hashTextOf(secret)
    const now = this.#now()
    const cached = this.#records.get(hash)
    if (cached !== undefined && now < cached.until && this.#isCurrent(cached.askedAtMs)) return this.#current(cached.record)
    const unknown = this.#unknowns.get(hash)
    if (unknown !== undefined && now < unknown.until && this.#isCurrent(unknown.askedAtMs)) return undefined
    if (!isSecret(secret)) return undefined
    // When `whileHeard` gives up, the question to the ledger goes on, is not asked again, and its answer is kept.
    const asked = this.#asked.get(hash) ?? this.#ask(secret, hash)
    return this.#whileHeard(asked).then((found) => (typeof found === 'object' ? this.#current(found) : found))
  }

  #ask(secret: string, hash: string): Promise<Found> {
    const changes = this.#changes
    const askedAtMs = this.#monotonicMs()
    const asked = this.#ledger.findKey(hashOf(secret)).then((found) => {
      if (this.#asked.get(hash) === asked) this.#asked.delete(hash)
      if (changes === this.#changes) this.#keep(hash, found, askedAtMs)
      return found
    })
    this.#asked.set(hash, asked)
    return asked
  }

  #keep(hash: string, found: Found, askedAtMs: number): void {
    if (found === 'unavailable') return
    if (found === undefined) {
      this.#unknowns.set(hash, { until: this.#now() + this.#unknownTtlMs, askedAtMs })
      return
    }
    this.#records.set(hash, { record: found, until: this.#now() + this.#recordTtlMs, askedAtMs })
    const hashes = this.#hashesOfKey.get(found.id) ?? new Set()
    this.#hashesOfKey.set(found.id, hashes.add(hash))
  }

  /** Checks the end of a rotated secret each time, so that it ends to the millisecond also when its record is cached. */
  #current(record: KeyRecord): KeyRecord | undefined {
    const until = record.secretValidUntil ?? null
    return until !== null && this.#now() >= until ? undefined : record
  }

  /** Also forgets the unknown secrets, because a new key or secret may have been unknown a moment ago. */
  #forget(keyId: string): void {
    this.#changes++
    this.#unknowns.clear()
    for (const hash of [...(this.#hashesOfKey.get(keyId) ?? [])]) this.#records.delete(hash)
    this.#asked.clear()
  }

  #unlink(keyId: string, hash: string): void {
    const hashes = this.#hashesOfKey.get(keyId)
    hashes?.delete(hash)
    if (hashes?.size === 0) this.#hashesOfKey.delete(keyId)
  }
}
