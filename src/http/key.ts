/**
 * Who asks: the credential in the headers, and the key it names. All of it happens before a body is read.
 * Rules: spec "Authentication"; product.md "Balance and keys"; reliability.md B1–B7.
 */

import { isSecret, type KeyRecord, stateOf } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import type { World } from '../world.ts'
import type { ClientLimits } from './client-limit.ts'

/** Which headers may carry the key: the model routes take `x-api-key` or Bearer, the dashboard Bearer only. */
export type Carrier = 'either' | 'bearer'

/** A key in the cache is found without a promise. */
export type Identified = KeyRecord | Refusal | Promise<KeyRecord | Refusal>

/**
 * The secret as the client sent it, known to be well-formed; a 401 otherwise. A header with nothing in it counts as not sent. One that was sent twice
 * arrives joined by a comma, and so is no secret.
 */
export function readCredential(headers: Headers, carrier: Carrier): string | Refusal {
  const apiKey = headers.get('x-api-key') ?? ''
  const authorization = headers.get('authorization') ?? ''
  if (apiKey !== '' && authorization !== '') return new Refusal('keyInvalid')
  const secret = carrier === 'either' && apiKey !== '' ? apiKey : bearerOf(authorization)
  if (secret === '') return new Refusal('keyMissing')
  return isSecret(secret) ? secret : new Refusal('keyInvalid')
}

/** The key, if it may be used now: 401, 403, 429 for a client that keeps sending unknown keys, or 503 when the ledger cannot say. */
export function identify(world: World, clientLimits: ClientLimits, headers: Headers, carrier: Carrier, clientIp: string): Identified {
  return andThen(knownKey(world, clientLimits, headers, carrier, clientIp), (key) => {
    if (key instanceof Refusal) return key
    switch (stateOf(key, world.clock.now())) {
      case 'live':
        return key
      case 'disabled':
        return new Refusal('keyDisabled')
      case 'expired':
        return new Refusal('keyExpired')
    }
  })
}

/** The same for `GET /v1/dashboard/balance`, which answers a disabled key; an expired one gets its 403 there, too, disabled or not. */
export function identifyEvenDisabled(world: World, clientLimits: ClientLimits, headers: Headers, clientIp: string): Identified {
  return andThen(knownKey(world, clientLimits, headers, 'bearer', clientIp), (key) => {
    if (key instanceof Refusal) return key
    const state = stateOf({ ...key, isActive: true, isAccountActive: true }, world.clock.now())
    return state === 'expired' ? new Refusal('keyExpired') : key
  })
}

/** What follows `Bearer` (in any case) and exactly one space; '' when there is no Bearer credential at all. */
function bearerOf(authorization: string): string {
  if (!/^bearer(\s|$)/i.test(authorization)) return authorization.includes(',') ? authorization : ''
  return authorization.startsWith(' ', 6) ? authorization.slice(7) : authorization.slice(6)
}

function knownKey(world: World, clientLimits: ClientLimits, headers: Headers, carrier: Carrier, clientIp: string): Identified {
  const secret = readCredential(headers, carrier)
  if (secret instanceof Refusal) return secret
  return andThen(world.keys.find(secret), (found) => {
    if (found === 'unavailable') return new Refusal('storageUnavailable')
    return found ?? clientLimits.countUnknownKey(clientIp) ?? new Refusal('keyInvalid')
  })
}

const andThen = <T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value)
