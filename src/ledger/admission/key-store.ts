/**
 * Key records in memory: a known secret is found without waiting, an unknown one asks the ledger once. Balances are never kept here, because only the ledger decides on them.
 * Rules: keys.md "Key records", "Imported keys"; nodes.md "Notifications". A changed key is forgotten in the same turn in which its change is committed.
 */

import { type BoundedMap, boundedMap } from '../../core/bounded-map.ts'
import { type ByteString, fromBytes } from '../../core/bytes/byte-string.ts'
import { mayBeForeign } from '../../core/foreign-secret.ts'
import { isSecret, type KeyRecord } from '../../core/key.ts'
import type { Ledger } from '../ledger.ts'
import { hashOf } from '../operations/secret-hash.ts'
import { ForeignSecrets } from './foreign-secrets.ts'

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
  whileHeard?: <T>(asking: Promise<T>) => Promise<T | 'unavailable'>
}>

type Found = KeyRecord | undefined | 'unavailable'
type Sought = Found | 'malformed'
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
  readonly #whileHeard: <T>(asking: Promise<T>) => Promise<T | 'unavailable'>
  readonly #records: BoundedMap<Cached>
  /** Hashes of unknown secrets, and until when they count as unknown. They are kept apart from the records, so that guesses cannot push keys out. */
  readonly #unknowns: BoundedMap<Unknown>
  readonly #foreign: ForeignSecrets
  readonly #hashesOfKey = new Map<string, Set<string>>()
  readonly #keysOfAccount = new Map<string, Set<string>>()
  readonly #asked = new Map<string, Promise<Found>>()
  /** Counts changes: an answer that was on its way during a change may be older than the change, and is not kept. */
  #changes = 0

  constructor(ledger: Pick<Ledger, 'findKey' | 'foreignHeads' | 'onKeyChange' | 'onImport'>, options: KeyStoreOptions = { now: Date.now }) {
    this.#ledger = ledger
    this.#now = options.now
    this.#recordTtlMs = options.recordTtlMs ?? 30_000
    this.#unknownTtlMs = options.unknownTtlMs ?? 5_000
    this.#isCurrent = options.isCurrent ?? (() => true)
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#whileHeard = options.whileHeard ?? ((asking) => asking)
    this.#records = boundedMap(options.recordsMax ?? 100_000, ({ record }, hash) => this.#unlink(record, hash))
    this.#unknowns = boundedMap(options.unknownsMax ?? 10_000)
    this.#foreign = new ForeignSecrets(ledger, { isCurrent: this.#isCurrent, monotonicMs: this.#monotonicMs })
    ledger.onKeyChange((change) =>
      this.#forget('keyId' in change ? [change.keyId] : [...(this.#keysOfAccount.get(change.accountId) ?? [])]),
    )
  }

  /**
   * The record of a live, disabled or expired key; undefined: no such key, or the secret was rotated away; `malformed`: no secret of this ledger can be so. The record is
   * returned without waiting when it is known.
   */
  find(secret: string): Sought | Promise<Sought> {
    const hash = hashOf(secret)
    const cached = this.#cached(fromBytes(hash))
    if (cached !== undefined) return this.#current(cached)
    if (isSecret(secret)) return this.#seek(hash)
    if (!mayBeForeign(secret)) return 'malformed'
    const sought = this.#foreign.seek(secret, hash)
    return sought instanceof Promise ? this.#whileHeard(sought.then((found) => this.#foreignKey(found))) : this.#foreignKey(sought)
  }

  #foreignKey(sought: Awaited<ReturnType<ForeignSecrets['seek']>>): Sought | Promise<Sought> {
    if (sought === 'none') return undefined
    if (typeof sought === 'string') return sought
    const cached = this.#cached(fromBytes(sought))
    return cached === undefined ? this.#seek(sought) : this.#current(cached)
  }

  #cached(hash: ByteString): KeyRecord | undefined {
    const cached = this.#records.get(hash)
    return cached !== undefined && this.#now() < cached.until && this.#isCurrent(cached.askedAtMs) ? cached.record : undefined
  }

  /** Asks the ledger, unless it said a moment ago that it has no such key. */
  #seek(secretHash: Uint8Array): Found | Promise<Found> {
    const hash = fromBytes(secretHash)
    const unknown = this.#unknowns.get(hash)
    if (unknown !== undefined && this.#now() < unknown.until && this.#isCurrent(unknown.askedAtMs)) return undefined
    // When `whileHeard` gives up, the question to the ledger goes on, is not asked again, and its answer is kept.
    const asked = this.#asked.get(hash) ?? this.#ask(secretHash, hash)
    return this.#whileHeard(asked).then((found) => (typeof found === 'object' ? this.#current(found) : found))
  }

  #ask(secretHash: Uint8Array, hash: string): Promise<Found> {
    const changes = this.#changes
    const askedAtMs = this.#monotonicMs()
    const asked = this.#ledger.findKey(secretHash).then((found) => {
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
    link(this.#hashesOfKey, found.id, hash)
    link(this.#keysOfAccount, found.accountId, found.id)
  }

  /** Checks the end of a rotated secret each time, so that it ends to the millisecond also when its record is cached. */
  #current(record: KeyRecord): KeyRecord | undefined {
    const until = record.secretValidUntil ?? null
    return until !== null && this.#now() >= until ? undefined : record
  }

  /** Also forgets the unknown secrets, because a new key or secret may have been unknown a moment ago. */
  #forget(keyIds: readonly string[]): void {
    this.#changes++
    this.#unknowns.clear()
    for (const keyId of keyIds) for (const hash of [...(this.#hashesOfKey.get(keyId) ?? [])]) this.#records.delete(hash)
    this.#asked.clear()
  }

  #unlink({ id, accountId }: KeyRecord, hash: string): void {
    unlink(this.#hashesOfKey, id, hash)
    if (!this.#hashesOfKey.has(id)) unlink(this.#keysOfAccount, accountId, id)
  }
}

function link(index: Map<string, Set<string>>, of: string, one: string): void {
  index.set(of, (index.get(of) ?? new Set()).add(one))
}

function unlink(index: Map<string, Set<string>>, of: string, one: string): void {
  const known = index.get(of)
  known?.delete(one)
  if (known?.size === 0) index.delete(of)
}
