/**
 * Who asks the operator's API: the token in `Authorization: Bearer`, and nothing else. Its row is read anew for each request, so that a token that was revoked on any node
 * is refused at once. Unknown tokens count against the client's address. Rules: operator-api.md "Tokens"; keys.md "Client addresses".
 */

import { isToken, type TokenRecord, tokenStateOf } from '../../core/api-token.ts'
import { type BoundedMap, boundedMap } from '../../core/bounded-map.ts'
import { type RateRule, step } from '../../core/rate-limit.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import type { World } from '../../world.ts'
import { busy, Failure, tooMany } from './failure.ts'

/** As for unknown keys: a mistyped token has a wrong checksum, so one that is well-formed is a guess, or was made elsewhere. */
const UNKNOWN: RateRule = { perMinute: 60, burst: 120 }
/** Each write is a durable commit with its line in the audit log, and competes with the settles of paid requests. */
const WRITES: RateRule = { perMinute: 120, burst: 120 }
const REMEMBERED_MAX = 10_000
const NOTE_USE_EVERY_MS = 60_000

const BEARER = /^bearer (.*)$/i

export class TokenGate {
  readonly #world: Pick<World, 'ledger' | 'clock'>
  readonly #unknown = boundedMap<number>(REMEMBERED_MAX)
  readonly #writes = boundedMap<number>(REMEMBERED_MAX)

  constructor(world: Pick<World, 'ledger' | 'clock'>) {
    this.#world = world
  }

  /** The token of a request. `address`: that of its client. */
  async admit(headers: Headers, address: string, isWrite: boolean): Promise<TokenRecord | Failure> {
    const sent = headers.get('authorization') ?? ''
    if (sent === '') return new Failure(401, 'API token is required')
    const secret = BEARER.exec(sent)?.[1] ?? ''
    const found = isToken(secret) ? await this.#world.ledger.findToken(hashOf(secret)) : null
    if (found === 'unavailable') return busy()
    if (found === undefined) return this.#count(this.#unknown, address, UNKNOWN) ?? INVALID
    if (found === null) return INVALID
    const now = this.#world.clock.now()
    switch (tokenStateOf(found, now)) {
      case 'revoked':
        return this.#count(this.#unknown, address, UNKNOWN) ?? INVALID
      case 'expired':
        return new Failure(403, 'API token expired')
      case 'live':
        this.#noteUse(found, now)
        return (isWrite ? this.#count(this.#writes, found.id, WRITES) : undefined) ?? found
    }
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
