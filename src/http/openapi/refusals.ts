/**
 * Which rows of the error table each operation can answer with, and when: taken from the table itself, so that status, type, message and headers are its own.
 * Rules: contract.md "Errors", "Retries"; keys.md "Order of checks"; faults.md "Before the first byte".
 */

import { t } from 'elysia'
import { insufficientBalance, invalid, modelUnavailable, REFUSALS, Refusal, type RefusalName } from '../../core/refusal.ts'
import { nativeErrorBody } from '../../core/refusal-body.ts'

/** When a client meets the row. `example`: present where the words depend on the request. */
type Case = Readonly<{ when: string; example?: Refusal }>

const CASES: Readonly<Record<RefusalName, Case>> = {
  invalidRequest: {
    when: 'The request is malformed: invalid JSON, a missing field or a disallowed value. The message names the problem',
    example: invalid('max_tokens', 'Field required'),
  },
  modelUnavailable: { when: 'There is no such model, or the key’s plan excludes it', example: modelUnavailable('X') },
  threadUnsupported: {
    when: 'The request names a thread that lives on the vendor’s side',
    example: new Refusal('threadUnsupported', { errorCode: 'thread_unsupported_request' }),
  },
  upstreamInvalidRequest: {
    when: 'The model refuses the request; the message is its own',
    example: new Refusal('upstreamInvalidRequest', { message: 'prompt is too long: 210000 tokens > 200000 maximum' }),
  },
  keyMissing: { when: 'No key was sent, or not in a header that counts here' },
  keyInvalid: { when: 'The key is unknown or mistyped, or both headers were sent' },
  keyDisabled: { when: 'The key is disabled or its account is inactive' },
  keyExpired: { when: 'The key is past its expiry date' },
  notFound: { when: 'There is nothing at this address for this key' },
  bodyTooLarge: { when: 'The body is larger than 32 MB' },
  insufficientBalance: {
    when: 'The balance or the key’s spend limit is used up. The address is this gateway’s',
    example: insufficientBalance('https://example.com/keys'),
  },
  rateLimited: { when: 'Too many requests in a short time' },
  balanceHeld: { when: 'Requests that are still running hold the rest of the balance' },
  repetitionRunning: { when: 'The request of this `Idempotency-Key` is still being answered, and cannot be joined: come again' },
  internal: { when: 'A mistake of ours' },
  upstreamBroken: { when: 'The provider failed' },
  upstreamBusy: { when: 'The provider is overloaded' },
  upstreamAccount: { when: 'The provider refuses our own account' },
  storageUnavailable: { when: 'Our storage does not answer' },
  overloaded: { when: 'We are overloaded' },
  draining: { when: 'This gateway is shutting down' },
  timedOut: { when: 'A time limit was exceeded. Use `stream: true` for long answers' },
}

const KEY: readonly RefusalName[] = [
  'keyMissing',
  'keyInvalid',
  'keyDisabled',
  'keyExpired',
  'rateLimited',
  'storageUnavailable',
  'internal',
]
/** Reads of the ledger wait in a queue, which may be full. */
const READ: readonly RefusalName[] = [...KEY, 'overloaded']
const BODY: readonly RefusalName[] = ['invalidRequest', 'modelUnavailable', 'threadUnsupported', 'bodyTooLarge', 'overloaded', 'draining']
const UPSTREAM: readonly RefusalName[] = ['upstreamInvalidRequest', 'upstreamBroken', 'upstreamBusy', 'upstreamAccount', 'timedOut']
const GENERATE = [...KEY, ...BODY, ...UPSTREAM, 'insufficientBalance', 'balanceHeld', 'repetitionRunning'] as const
/** The translated formats have no threads, which belong to the native format. */
const TRANSLATED = GENERATE.filter((name) => name !== 'threadUnsupported')

const BY_OPERATION: Readonly<Record<string, readonly RefusalName[]>> = {
  createMessage: GENERATE,
  createChatCompletion: TRANSLATED,
  createResponse: TRANSLATED,
  countTokens: [...KEY, ...BODY, ...UPSTREAM, 'notFound'],
  listModels: [...KEY, 'invalidRequest'],
  retrieveModel: [...KEY, 'notFound'],
  getBalance: KEY.filter((name) => name !== 'keyDisabled'),
  getSubscription: KEY,
  getUsage: KEY,
  getCreditGrants: KEY,
  listUsageRequests: [...READ, 'invalidRequest'],
  getUsageRequest: [...READ, 'notFound'],
  listUsageDaily: [...READ, 'invalidRequest'],
  getKey: READ,
  getStatementKey: READ,
  getLiveness: [],
  getReadiness: [],
}

const NAMES = Object.keys(REFUSALS) as readonly RefusalName[]

const ERROR = t.Object(
  {
    type: t.Literal('error'),
    error: t.Object({
      type: t.Unsafe<string>({ type: 'string', enum: [...new Set(NAMES.map((name) => REFUSALS[name].type))] }),
      message: t.String({ description: 'For people' }),
      code: t.Optional(t.Literal('insufficient_quota', { description: 'Only with `insufficient_balance`' })),
      details: t.Optional(t.Object({ error_code: t.String() })),
    }),
  },
  { title: 'Error', description: 'The same on every endpoint' },
)

/** The error answers of an operation, by status. */
export function refusalsOf(operationId: string): Readonly<Record<string, ReturnType<typeof answerOf>>> {
  const rows = [...(BY_OPERATION[operationId] ?? [])].sort((a, b) => NAMES.indexOf(a) - NAMES.indexOf(b))
  const byStatus = Map.groupBy(rows, (name) => REFUSALS[name].status)
  return Object.fromEntries([...byStatus].map(([status, names]) => [status, answerOf(names)]))
}

function answerOf(names: readonly RefusalName[]) {
  const types = [...new Set(names.map((name) => REFUSALS[name].type))]
  const isRetryable = names.some((name) => REFUSALS[name].isRetryable)
  const isFinal = names.some((name) => !REFUSALS[name].isRetryable)
  const examples = names.map((name) => [
    name,
    { summary: CASES[name].when, value: nativeErrorBody(CASES[name].example ?? new Refusal(name)) },
  ])
  return {
    description: types.map((type) => `\`${type}\``).join(', '),
    headers: {
      ...(isRetryable ? { 'retry-after': { $ref: '#/components/headers/retry-after' } } : {}),
      ...(isFinal ? { 'x-should-retry': { $ref: '#/components/headers/x-should-retry' } } : {}),
    },
    content: { 'application/json': { schema: ERROR, examples: Object.fromEntries(examples) } },
  }
}
