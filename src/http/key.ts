/**
 * The key of a request: the credential in its headers, and the key's record. The key is found before a body is read and before a query is judged. Rules: contract.md
 * "Authentication"; keys.md "Credentials", "Order of checks".
 */

import type { Server } from 'bun'
import { Elysia, t, type ValidationError } from 'elysia'
import { type Carrier, readCredential } from '../core/credential.ts'
import { type KeyRecord, stateOf } from '../core/key.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import { Exchange } from '../relay/exchange.ts'
import type { KeyGate } from '../relay/key-limits.ts'
import type { RateGate } from '../relay/rate-gate.ts'
import type { World } from '../world.ts'
import { type Admission, type Asker, refuseAsker } from './answers.ts'
import { Client } from './client-address.ts'
import type { ClientLimits } from './client-limit.ts'

const SECRET = t.String({ description: 'The raw key, `sk-…`' })
const BEARER = t.String({ description: '`Bearer sk-…`' })

/** The headers for a key, described for documents and typed clients. Which of them counts is decided below, in the contract's words. */
export const KEY_HEADERS = {
  either: t.NoValidate(t.Object({ authorization: t.Optional(BEARER), 'x-api-key': t.Optional(SECRET) })),
  bearer: t.NoValidate(t.Object({ authorization: BEARER })),
} as const

/** A key in the cache is found without a promise. */
export type Identified = KeyRecord | Refusal | Promise<KeyRecord | Refusal>

/** The key, if it may be used now: 401, 403, 429 for a client that keeps sending unknown keys, or 503 when the ledger cannot say. */
export function identify(world: World, clientLimits: ClientLimits, headers: Headers, carrier: Carrier, client: Client): Identified {
  return andThen(knownKey(world, clientLimits, headers, carrier, client), (key) => {
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

/** Identifies the key for `GET /v1/dashboard/balance`, which answers a disabled key; an expired key gets its 403 there, too, disabled or not. */
function identifyEvenDisabled(world: World, clientLimits: ClientLimits, headers: Headers, client: Client): Identified {
  return andThen(knownKey(world, clientLimits, headers, 'bearer', client), (key) => {
    if (key instanceof Refusal) return key
    const state = stateOf({ ...key, isActive: true, isAccountActive: true }, world.clock.now())
    return state === 'expired' ? new Refusal('keyExpired') : key
  })
}

function knownKey(world: World, clientLimits: ClientLimits, headers: Headers, carrier: Carrier, client: Client): Identified {
  const secret = readCredential(headers, carrier)
  if (secret instanceof Refusal) return secret
  return andThen(world.keys.find(secret), (found) => {
    if (found === 'unavailable') return new Refusal('storageUnavailable')
    if (found === 'malformed') return new Refusal('keyInvalid')
    return found ?? andThen(clientLimits.countUnknownKey(client.ip), (limited) => limited ?? new Refusal('keyInvalid'))
  })
}

const andThen = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/** What a key may do at once and in a minute: its limits as every key has them, and the rates of its plan and its own. */
export type Gates = Readonly<{ keyLimits: KeyGate; rates: RateGate }>

/** How a small GET treats its key. `balance` is a route of the dashboard that answers a disabled key, too. */
type Door = 'models' | 'dashboard' | 'balance'

/**
 * `key: door` on a GET route: its handler gets the `asker`, with the key or with the refusal. Elysia judges a query before it resolves anything, so a wrong query is
 * answered here, too: after the limits and the key, as keys.md "Order of checks" has it.
 */
export function keyMacro(world: World, { keyLimits, rates }: Gates, clientLimits: ClientLimits) {
  const admit = async (door: Door, headers: Headers, client: Client, exchange: Exchange): Promise<Admission> => {
    const limited = door === 'models' ? undefined : await clientLimits.countDashboard(client.ip)
    if (limited !== undefined) return { refusal: limited }
    const found = await identifyAt(door, headers, client)
    if (found instanceof Refusal) return { refusal: found }
    if (door !== 'models') return { key: found }
    exchange.tellRates(() => rates.headers(found))
    const counted = (await keyLimits.count(found.id)) ?? (await rates.count(found))
    return counted === undefined ? { key: found } : { key: found, refusal: counted }
  }
  const identifyAt = (door: Door, headers: Headers, client: Client): Identified =>
    door === 'balance'
      ? identifyEvenDisabled(world, clientLimits, headers, client)
      : identify(world, clientLimits, headers, door === 'models' ? 'either' : 'bearer', client)
  /** Elysia answers HEAD on GET routes; the contract has no HEAD, so that is a 404 here. */
  const ask = async (door: Door, route: string, request: Request, server: Server<unknown> | null): Promise<Asker> => {
    const client = new Client(world, request, server)
    client.look()
    if (request.method === 'HEAD') return { request, client, exchange: new Exchange(world, 'unknown'), refusal: new Refusal('notFound') }
    const exchange = new Exchange(world, patternOf(route))
    return { request, client, exchange, ...(await admit(door, request.headers, client, exchange)) }
  }
  return new Elysia({ name: 'key' }).macro({
    key: (door: Door) => ({
      resolve: async ({ route, request, server }) => ({ asker: await ask(door, route, request, server) }),
      error: async ({ code, error, route, request, server }) => {
        if (code !== 'VALIDATION') return undefined
        const asker = await ask(door, route, request, server)
        return refuseAsker(asker, asker.refusal ?? invalidQuery(error))
      },
    }),
  })
}

/** The route for the log, as the contract writes it: `/v1/models/{id}`. */
const patternOf = (route: string): string => route.replace(/:(\w+)(?:\/\*)?$/, '{$1}')

/** Elysia's finding, without its words about the value: a message of ours quotes nothing that a client sent. */
function invalidQuery({ valueError }: Readonly<Pick<ValidationError, 'valueError'>>): Refusal {
  const path = valueError?.path.slice(1).replaceAll('/', '.')
  const expected = valueError?.schema.description
  return invalid(
    path === undefined || path === '' ? 'query' : path,
    expected === undefined ? 'Input is not allowed' : `Input should be ${expected}`,
  )
}
