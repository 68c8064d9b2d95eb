/**
 * The messages of the operator's socket, as JSON and back, without loss: amounts are decimal text, hashes are hex. An incoming message is checked whole. Shapes:
 * ledger/operation.ts, ledger/ledger.ts.
 */

import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { TOKEN_ACCOUNTS_MAX, TOKEN_SCOPES } from '../core/api-token.ts'
import { CODES_MAX } from '../core/limits.ts'
import { RATE_MAX } from '../core/token-buckets.ts'
import type { Hold } from '../ledger/ledger.ts'
import { type Act, CHAT_STATES, type Operation, type OperationResult } from '../ledger/operation.ts'
import type { UpstreamReport } from '../upstream/member.ts'
import { IMPORT } from './import-message.ts'
import { hash, id, label, orNull, per, picos, shape, time } from './message-parts.ts'
import type { Moment } from './moment.ts'
import type { UpstreamOrder, UpstreamResult } from './upstreams.ts'

const topUp = { creditId: id, amountPicos: picos, ref: label }
const creditKind = Type.Union([Type.Literal('top-up'), Type.Literal('refund'), Type.Literal('correction')])

const access = Type.Union([Type.Literal('owner'), Type.Literal('reader'), Type.Literal('operator'), Type.Literal('none')])

const rate = orNull(Type.Integer({ minimum: 1, maximum: RATE_MAX }))
const rates = shape({ requestsPerMinute: rate, inputTokensPerMinute: rate, outputTokensPerMinute: rate, concurrentRequests: rate })
const setBy = Type.Union([Type.Literal('operator'), Type.Literal('customer')])

const OPERATION = Type.Union([
  shape({ kind: Type.Literal('createAccount'), accountId: id, name: label, topUp: orNull(shape(topUp)), now: time }),
  shape({ kind: Type.Literal('credit'), creditKind, accountId: id, ...topUp, isPaidOut: Type.Optional(Type.Boolean()), now: time }),
  shape({ kind: Type.Literal('setAccountActive'), accountId: id, isActive: Type.Boolean(), now: time }),
  shape({ kind: Type.Literal('setAccountTags'), accountId: id, tagsUserIds: Type.Boolean(), now: time }),
  shape({
    kind: Type.Literal('createKey'),
    keyId: id,
    secretHash: hash,
    display: label,
    name: label,
    accountId: orNull(id),
    ownAccountId: id,
    plan: label,
    limitPicos: orNull(picos),
    expiresAt: orNull(time),
    topUp: orNull(shape(topUp)),
    now: time,
  }),
  shape({ kind: Type.Literal('setKeyActive'), keyId: id, isActive: Type.Boolean(), now: time }),
  shape({ kind: Type.Literal('setKeyLimit'), keyId: id, limitPicos: orNull(picos), now: time }),
  shape({ kind: Type.Literal('setKeyRates'), keyId: id, rates: orNull(rates), now: time }),
  shape({ kind: Type.Literal('setBudget'), accountId: id, keyId: orNull(id), per, capPicos: orNull(picos), setBy, now: time }),
  shape({ kind: Type.Literal('setAccountPlan'), accountId: id, plan: orNull(label), now: time }),
  shape({ kind: Type.Literal('renameAccount'), accountId: id, name: Type.String(), now: time }),
  shape({ kind: Type.Literal('renameKey'), keyId: id, name: Type.String(), now: time }),
  shape({ kind: Type.Literal('setKeyExpiry'), keyId: id, expiresAt: orNull(time), now: time }),
  shape({
    kind: Type.Literal('createCodes'),
    batchId: id,
    name: label,
    amountPicos: picos,
    expiresAt: orNull(time),
    codes: Type.Array(shape({ codeHash: hash, display: label }), { maxItems: CODES_MAX }),
    now: time,
  }),
  shape({ kind: Type.Literal('setAccess'), email: label, accountId: orNull(id), access, now: time }),
  shape({
    kind: Type.Literal('giveLink'),
    email: label,
    link: Type.Union([Type.Literal('password'), Type.Literal('sign-in')]),
    listener: Type.Union([Type.Literal('cabinet'), Type.Literal('console')]),
    now: time,
  }),
  shape({
    kind: Type.Literal('setChat'),
    email: label,
    accountId: id,
    chat: id,
    state: Type.Union(CHAT_STATES.map((state) => Type.Literal(state))),
    now: time,
  }),
  shape({ kind: Type.Literal('disableCodes'), batchId: id, now: time }),
  shape({ kind: Type.Literal('redeemCode'), codeHash: hash, accountId: id, creditId: id, now: time }),
  IMPORT,
  shape({
    kind: Type.Literal('rotateKey'),
    keyId: id,
    secretHash: hash,
    display: label,
    oldValidUntil: time,
    endsPromised: Type.Optional(Type.Boolean()),
    now: time,
  }),
  shape({
    kind: Type.Literal('createToken'),
    tokenId: id,
    tokenHash: hash,
    display: label,
    name: label,
    scope: Type.Union(TOKEN_SCOPES.map((scope) => Type.Literal(scope))),
    accountIds: Type.Array(id, { maxItems: TOKEN_ACCOUNTS_MAX }),
    expiresAt: time,
    now: time,
  }),
  shape({ kind: Type.Literal('revokeToken'), tokenId: id, now: time }),
])

const act = shape({ actor: label, address: label, reason: label })

const ORDER = shape({ operation: OPERATION, act })

const HOLDS_QUERY = shape({ keyId: orNull(id), accountId: orNull(id), after: orNull(id), limit: Type.Integer({ minimum: 1 }) })

const HOLDS = Type.Array(
  shape({
    requestId: id,
    keyId: id,
    accountId: id,
    modelId: Type.String(),
    format: Type.Union([Type.Literal('messages'), Type.Literal('chat'), Type.Literal('responses')]),
    isStream: Type.Boolean(),
    amountPicos: Type.BigInt(),
    startedAt: time,
  }),
)

const OPERATION_RESULT = Type.Union([
  shape({
    result: Type.Literal('done'),
    earlier: Type.Optional(shape({ creditId: id, accountId: id })),
    redeemedPicos: Type.Optional(picos),
  }),
  shape({ result: Type.Literal('refused'), problem: Type.String() }),
  shape({ result: Type.Literal('unavailable') }),
])

const UPSTREAM_ORDER = shape({ upstream: id, isOut: Type.Boolean(), isNoted: Type.Boolean(), act, now: time })

const UPSTREAM_RESULT = Type.Union([
  shape({ result: Type.Literal('done'), isNew: Type.Boolean(), running: Type.Integer(), left: Type.Integer() }),
  shape({ result: Type.Literal('refused'), problem: Type.String() }),
  shape({ result: Type.Literal('unavailable') }),
])

export const REPORTS = Type.Array(
  shape({
    name: Type.String(),
    priority: Type.Number(),
    weight: Type.Number(),
    running: Type.Integer(),
    waiting: Type.Integer(),
    out: orNull(shape({ by: label, reason: label, at: time })),
    lastFailure: orNull(shape({ cause: Type.String(), model: Type.String(), at: time })),
    models: Type.Array(
      shape({
        model: Type.String(),
        breaker: Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('half-open')]),
        probeInMs: orNull(Type.Integer()),
        firstEventMs: Type.Integer(),
        share: Type.Number(),
      }),
    ),
  }),
)

const UPSTREAMS = shape({ node: orNull(Type.String()), reports: REPORTS })

/** The question whether a process listens, and its answer. */
export const ALIVE = 'alive'
/** Asks whether the ledger takes entries now; answered by true or false. */
export const WRITABLE = 'writable'

/** An operation, with the act that says who gives it and why. */
export type Order = Readonly<{ operation: Operation; act: Act }>

/** Asks for the holds of one key or account, after a request id; null: any. Each answer has at most `limit` holds. */
export type HoldsQuery = Readonly<{ keyId: string | null; accountId: string | null; after: string | null; limit: number }>

/** `node`: the name of the process among those that write; null: it is the only one. */
export type NodeUpstreams = Readonly<{ node: string | null; reports: readonly UpstreamReport[] }>

type Message = Order | OperationResult | HoldsQuery | readonly Hold[] | UpstreamOrder | UpstreamResult | NodeUpstreams | Moment

/** The one encoder of both sides: plain JSON throws at an amount. */
export const writeMessage = (message: Message): string => JSON.stringify(message, encode)

/** Undefined when the text is not exactly one order. */
export function readOrder(text: string): Order | undefined {
  const value = parseMessage(text)
  return Value.Check(ORDER, value) ? (value as Static<typeof ORDER> & Order) : undefined
}

export function readHoldsQuery(text: string): HoldsQuery | undefined {
  const value = parseMessage(text)
  return Value.Check(HOLDS_QUERY, value) ? value : undefined
}

export function readHolds(text: string): readonly Hold[] | undefined {
  const value = parseMessage(text)
  return Value.Check(HOLDS, value) ? (value as Static<typeof HOLDS> & readonly Hold[]) : undefined
}

export function readResult(text: string): OperationResult | undefined {
  const value = parseMessage(text)
  return Value.Check(OPERATION_RESULT, value) ? (value as Static<typeof OPERATION_RESULT> & OperationResult) : undefined
}

export function readUpstreamOrder(text: string): UpstreamOrder | undefined {
  const value = parseMessage(text)
  return Value.Check(UPSTREAM_ORDER, value) ? value : undefined
}

export function readUpstreamResult(text: string): UpstreamResult | undefined {
  const value = parseMessage(text)
  return Value.Check(UPSTREAM_RESULT, value) ? value : undefined
}

export function readUpstreams(text: string): NodeUpstreams | undefined {
  const value = parseMessage(text)
  return Value.Check(UPSTREAMS, value) ? value : undefined
}

/** Undefined where the text is no message. */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text, decode)
  } catch {
    return undefined
  }
}

function encode(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { picos: value.toString() }
  return value instanceof Uint8Array ? { hex: value.toHex() } : value
}

function decode(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('picos' in value && typeof value.picos === 'string' && /^-?\d{1,19}$/.test(value.picos)) return BigInt(value.picos)
  if ('hex' in value && typeof value.hex === 'string' && /^([0-9a-f]{2})+$/.test(value.hex)) return Uint8Array.fromHex(value.hex)
  return value
}
