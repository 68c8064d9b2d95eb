/**
 * Refusals: the answers given instead of a model's reply. A refusal is a value; only bugs are thrown. The table has one row for each error; the row's name is its metric label.
 * Rules: contract.md "Errors"; faults.md "Before the first byte", "Our own".
 */

import type { WindowUsed } from './spending.ts'

/** `nativeType`: the vendor's type for this error, written beside our type in the error events of messages. Only rows that may be retried have it. */
type Row = Readonly<{
  status: number
  type: ErrorType
  message: string
  code?: string
  isRetryable: boolean
  nativeType?: 'overloaded_error' | 'api_error' | 'timeout_error'
}>

type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'insufficient_balance'
  | 'rate_limit_error'
  | 'server_error'

const UNAVAILABLE = 'Service temporarily unavailable; retry later'
const PROVIDER_ISSUE = 'Temporary provider issue on our side, retry in a minute'

export const REFUSALS = {
  invalidRequest: { status: 400, type: 'invalid_request_error', message: 'Invalid request', isRetryable: false },
  modelUnavailable: { status: 400, type: 'invalid_request_error', message: 'Model is not available on this API key', isRetryable: false },
  /** Threads that live on the vendor's side; the detail makes the vendor's SDK fall back to sending the whole conversation. */
  threadUnsupported: { status: 400, type: 'invalid_request_error', message: 'thread: not supported by this service', isRetryable: false },
  upstreamInvalidRequest: { status: 400, type: 'invalid_request_error', message: 'Invalid request', isRetryable: false },
  keyMissing: { status: 401, type: 'authentication_error', message: 'API key is required', isRetryable: false },
  keyInvalid: { status: 401, type: 'authentication_error', message: 'Invalid API key', isRetryable: false },
  keyDisabled: { status: 401, type: 'authentication_error', message: 'API key is disabled', isRetryable: false },
  keyExpired: { status: 403, type: 'permission_error', message: 'API key expired', isRetryable: false },
  notFound: { status: 404, type: 'not_found_error', message: 'The requested API endpoint does not exist', isRetryable: false },
  bodyTooLarge: { status: 413, type: 'invalid_request_error', message: 'request body exceeds size limit', isRetryable: false },
  insufficientBalance: {
    status: 429,
    type: 'insufficient_balance',
    message: 'Insufficient balance on this API key. Top up: ',
    code: 'insufficient_quota',
    isRetryable: false,
  },
  rateLimited: { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later', isRetryable: true },
  /** The account has a balance, but running requests hold all of it. */
  balanceHeld: { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later', isRetryable: true },
  /** The same request, under the same Idempotency-Key, is still being answered, and cannot be joined. */
  repetitionRunning: { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later', isRetryable: true },
  internal: { status: 500, type: 'server_error', message: UNAVAILABLE, isRetryable: true, nativeType: 'api_error' },
  upstreamBroken: { status: 502, type: 'server_error', message: UNAVAILABLE, isRetryable: true, nativeType: 'api_error' },
  upstreamBusy: { status: 503, type: 'server_error', message: PROVIDER_ISSUE, isRetryable: true, nativeType: 'overloaded_error' },
  /** The upstream refuses our own account or credentials: the customer can do nothing, the operator must. */
  upstreamAccount: { status: 503, type: 'server_error', message: PROVIDER_ISSUE, isRetryable: true, nativeType: 'overloaded_error' },
  storageUnavailable: { status: 503, type: 'server_error', message: UNAVAILABLE, isRetryable: true, nativeType: 'overloaded_error' },
  overloaded: { status: 503, type: 'server_error', message: UNAVAILABLE, isRetryable: true, nativeType: 'overloaded_error' },
  draining: { status: 503, type: 'server_error', message: UNAVAILABLE, isRetryable: true, nativeType: 'overloaded_error' },
  timedOut: {
    status: 504,
    type: 'server_error',
    message: 'Service timed out; retry later',
    isRetryable: true,
    nativeType: 'timeout_error',
  },
} as const satisfies Record<string, Row>

export type RefusalName = keyof typeof REFUSALS

const RETRY_AFTER_SECONDS_MAX = 30
const MODEL_ID_LENGTH_MAX = 200

type RefusalMore = { message?: string; retryAfterSeconds?: number; errorCode?: string; leavesBody?: boolean; window?: WindowUsed }

export class Refusal {
  readonly name: RefusalName
  readonly message: string
  /** Whole seconds, 1 to 30; undefined where the client must not retry. */
  readonly retryAfterSeconds: number | undefined
  /** `error.details.error_code`, where a client's behaviour depends on it. */
  readonly errorCode: string | undefined
  /** The gateway does not wait for the rest of the request's body: the connection closes after the answer. */
  readonly leavesBody: boolean

  /** The window whose budget is used up. */
  readonly window: WindowUsed | undefined

  constructor(name: RefusalName, more: RefusalMore = {}) {
    this.name = name
    this.message = more.message ?? REFUSALS[name].message
    this.retryAfterSeconds = REFUSALS[name].isRetryable ? clampRetryAfter(more.retryAfterSeconds ?? 1) : undefined
    this.errorCode = more.errorCode
    this.leavesBody = more.leavesBody ?? false
    this.window = more.window
  }

  get row(): Row {
    return REFUSALS[this.name]
  }
}

/** 400 that names the field: `invalid('max_tokens', 'Field required')` reads "max_tokens: Field required". */
export const invalid = (path: string, problem: string): Refusal => new Refusal('invalidRequest', { message: `${path}: ${problem}` })

/** `Model X is not available on this API key`, with X cut to 200 characters. */
export const modelUnavailable = (id: string): Refusal =>
  new Refusal('modelUnavailable', { message: `Model ${id.slice(0, MODEL_ID_LENGTH_MAX)} is not available on this API key` })

/** `window`: the one that is used up, where it is not the balance or the limit. */
export const insufficientBalance = (dashboardUrl: string, window?: WindowUsed): Refusal =>
  new Refusal('insufficientBalance', {
    message: `${REFUSALS.insufficientBalance.message}${dashboardUrl}`,
    ...(window === undefined ? {} : { window }),
  })

const clampRetryAfter = (seconds: number): number =>
  Number.isNaN(seconds) ? 1 : Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(seconds)))
