/**
 * Who asks the operator's API: the token in `Authorization: Bearer`, and nothing else. Its row is read anew for each request, so that a token that was revoked on any node
 * is refused at once. A token that this process has not found yet counts against the client's address before the ledger is asked, so that guesses cost the ledger little; one
 * that was refused is refused from memory. Rules: operator-api.md "Tokens"; keys.md "Client addresses".
 */

import { isToken, type TokenRecord, tokenStateOf } from '../../core/api-token.ts'
import { type BoundedMap, boundedMap } from '../../core/bounded-map.ts'
import { fromBytes } from '../../core/bytes/byte-string.ts'
import { type RateRule, step } from '../../core/rate-limit.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import type { World } from '../../world.ts'
import { busy, Failure, tooMany } from './failure.ts'

/** As for unknown keys: a mistyped token has a wrong checksum, so one that is well-formed is a guess, or was made elsewhere. */
const UNKNOWN: RateRule = { perMinute: 60, burst: 120 }
/** Each write is a durable commit with its line in the audit log, and competes with the settles of paid requests. */
const WRITES: RateRule = { perMinute: 120, burst: 120 }
const REMEMBERED_MAX = 10_000
/** A refused token stays refused, since no token comes to life that was sent before it was made; the end is for a ledger that is one of another time for a moment. */
const REFUSED_MS = 60_000
const MINUTE_MS = 60_000
const NOTE_USE_EVERY_MS = MINUTE_MS

const BEARER = /^bearer (.*)$/i

export class TokenGate {
  readonly #world: Pick<World, 'ledger' | 'clock'>
  readonly #unknown = boundedMap<number>(REMEMBERED_MAX)
  readonly #writes = boundedMap<number>(REMEMBERED_MAX)
  /** By hash: tokens that were live when they were last looked at, and those that were refused. */
  readonly #live = boundedMap<true>(REMEMBERED_MAX)
  readonly #asked = new Map<string, ReturnType<Ledger['findToken']>>()
  readonly #refused = boundedMap<Readonly<{ as: Failure; until: number }>>(REMEMBERED_MAX)

  constructor(world: Pick<World, 'ledger' | 'clock'>) {
    this.#world = world
  }

  /** The token of a request. `address`: that of its client. */
  async admit(headers: Headers, address: string, isWrite: boolean): Promise<TokenRecord | Failure> {
    const sent = headers.get('authorization') ?? ''
    if (sent === '') return new Failure(401, 'API token is required')
    const secret = BEARER.exec(sent)?.[1] ?? ''
    if (!isToken(secret)) return INVALID
    const hash = hashOf(secret)
    const name = fromBytes(hash)
    const isCounted = !(this.#live.has(name) || this.#asked.has(name))
    const limited = isCounted ? this.#count(this.#unknown, address, UNKNOWN) : undefined
    if (limited !== undefined) return limited
    const refused = this.#refused.get(name)
    if (refused !== undefined && this.#world.clock.monotonicMs() < refused.until) return refused.as
    const found = await this.#find(name, hash)
    const now = this.#world.clock.now()
    const state = typeof found === 'object' ? tokenStateOf(found, now) : 'revoked'
    if (found === undefined || (found !== 'unavailable' && state !== 'live'))
      return this.#refuse(name, state === 'expired' ? EXPIRED : INVALID)
    if (isCounted) this.#giveBack(address)
    if (found === 'unavailable') return busy()
    this.#live.set(name, true)
    this.#noteUse(found, now)
    return (isWrite ? this.#count(this.#writes, found.id, WRITES) : undefined) ?? found
  }

  /** Requests that come at once with a token that was not found yet are one look-up. */
  #find(name: string, hash: Uint8Array): ReturnType<Ledger['findToken']> {
    if (this.#live.has(name)) return this.#world.ledger.findToken(hash)
    const asked = this.#asked.get(name) ?? this.#world.ledger.findToken(hash).finally(() => this.#asked.delete(name))
    this.#asked.set(name, asked)
    return asked
  }

  /** What was counted was no guess. */
  #giveBack(address: string): void {
    const tat = this.#unknown.get(address)
    if (tat !== undefined) this.#unknown.set(address, tat - MINUTE_MS / UNKNOWN.perMinute)
  }

  #refuse(name: string, as: Failure): Failure {
    this.#live.delete(name)
    this.#refused.set(name, { as, until: this.#world.clock.monotonicMs() + REFUSED_MS })
    return as
  }

  #count(tats: BoundedMap<number>, who: string, rule: RateRule): Failure | undefined {
    const { tat, isAllowed, retryAfterSeconds } = step(tats.get(who), this.#world.clock.monotonicMs(), rule)
    tats.set(who, tat)
    return isAllowed ? undefined : tooMany(retryAfterSeconds)
  }

  /** Nothing waits for it: a use that is not noted is noted with the next request. */
  #noteUse({ id, lastUsedAt }: TokenRecord, now: number): void {
    if (lastUsedAt !== null && now - lastUsedAt < NOTE_USE_EVERY_MS) return
    this.#world.ledger.operate({ kind: 'noteTokenUse', tokenId: id, now }).catch(() => undefined)
  }
}

const INVALID = new Failure(401, 'Invalid API token')
const EXPIRED = new Failure(403, 'API token expired')
