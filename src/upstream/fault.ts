/** Turns an upstream's failure before its first byte into the client's error. Rules: faults.md "Before the first byte". */

import { errorOfBody, type NativeError } from '../core/native/error.ts'
import { namesOurAccount, refusalOfErrorEvent, refusalOfInvalidRequest, rowOfStatus } from '../core/native/error-refusal.ts'
import { inOwnWords } from '../core/native/own-words.ts'
import type { NamedModel } from '../core/native/scrubbed-text.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'
import type { Trouble } from './breaker.ts'
import type { Fault, Reply, UpstreamRequest } from './upstream.ts'

/** A failure without an answer: refused, reset, DNS, TLS, or no connection for another reason. */
export function connectionFault(upstream: string, cause: string): Fault {
  const broken = fault(upstream, 'upstreamBroken', cause)
  if (OURS.has(cause)) return broken
  return { ...broken, trouble: { kind: UNREACHED.has(cause) ? 'dead' : 'broken' } }
}

/** A 200 whose body is no answer. */
export const answerFault = (upstream: string, cause: string): Fault => ({
  ...fault(upstream, 'upstreamBroken', cause),
  status: 200,
  trouble: { kind: 'broken' },
})

/** No event of a stream came in the time for the first one. */
export const firstEventFault = (upstream: string): Fault => ({
  ...fault(upstream, 'timedOut', 'first event'),
  trouble: { kind: 'broken' },
})

/** The call could not be signed, or there is no token for it: nothing of it was sent, and only an operator can mend it. */
export const unprovenFault = (upstream: string, cause: string): Fault => ({
  ...fault(upstream, 'upstreamAccount', cause),
  isAlarm: true,
  trouble: { kind: 'account' },
})

/** The upstream answered with a model that was not asked for, whose price is another. */
export const otherModelFault = (upstream: string, usage: Usage | undefined): Fault => ({
  ...fault(upstream, 'upstreamAccount', 'other model'),
  isAlarm: true,
  status: 200,
  trouble: { kind: 'broken' },
  ...(usage === undefined ? {} : { usage }),
})

/** No upstream of the model counts tokens. */
export const uncountedFault = (upstream: string): Fault => fault(upstream, 'notFound', 'no count_tokens')

/** No upstream may be called. `seconds`: how long that lasts, as far as we know. */
export const busyFault = (upstream: string, cause: string, seconds?: number): Fault => fault(upstream, 'upstreamBusy', cause, seconds)

/** Causes that say that not one byte of the request was sent. */
const UNREACHED = new Set(['refused', 'dns', 'tls', 'connect', 'connect timeout'])
/** Causes in which the upstream had no part. */
const OURS = new Set(['aborted', 'request', 'not configured'])

/** An answer that is not 200. `body` is its text, at most the first kilobytes; it is only read for the native error inside. */
export function statusFault(upstream: string, request: UpstreamRequest, status: number, body: string, retryAfter: string | null): Fault {
  return { ...faultOfStatus(upstream, request, status, body, retryAfter), status }
}

function faultOfStatus(upstream: string, request: UpstreamRequest, status: number, body: string, retryAfter: string | null): Fault {
  const cause = `status ${status}`
  const row = rowOfStatus(status)
  if (status === 404 && request.path === '/v1/messages/count_tokens') return fault(upstream, 'notFound', cause)
  switch (row) {
    case 'upstreamInvalidRequest':
      return invalidRequestFault(upstream, request, cause, body)
    case 'bodyTooLarge':
      return fault(upstream, row, cause)
    case 'upstreamBusy':
      // Servers of chat answer 429 when a quota is used up, too.
      if (status === 429 && namesAccount(body))
        return { ...fault(upstream, 'upstreamAccount', cause), isAlarm: true, trouble: { kind: 'account' } }
      return busyStatus(upstream, cause, retryAfterSeconds(retryAfter))
    case 'upstreamAccount':
      // A 404 is about a model that is not there, or about a file that one request names: a single one says nothing of other requests.
      return { ...fault(upstream, row, cause), isAlarm: true, trouble: { kind: status === 404 ? 'broken' : 'account' } }
    default:
      return { ...fault(upstream, row, cause), trouble: { kind: 'broken' } }
  }
}

function namesAccount(body: string): boolean {
  const error = errorOfBody(body)
  return error !== undefined && namesOurAccount(error)
}

const busyStatus = (upstream: string, cause: string, seconds: number | undefined): Fault => ({
  ...fault(upstream, 'upstreamBusy', cause, seconds),
  trouble: { kind: 'busy', retryAfterMs: seconds === undefined ? undefined : Math.max(0, seconds * 1_000) },
})

/** An error that came as the first event of a 200. */
export function errorEventFault(
  { upstream, hidesErrorText }: Pick<Reply, 'upstream' | 'hidesErrorText'>,
  error: NativeError | undefined,
  model: NamedModel,
): Fault {
  const found = refusalOfErrorEvent(error, model)
  const refusal = hidesErrorText ? inOwnWords(found) : found
  const isAlarm = refusal.name === 'upstreamAccount'
  const trouble = isAlarm && error !== undefined ? troubleOfAccount(error) : troubleOf(refusal.name)
  return { kind: 'fault', upstream, refusal, cause: 'stream', isAlarm, status: 200, ...(trouble === undefined ? {} : { trouble }) }
}

function troubleOf(name: RefusalName): Trouble | undefined {
  if (name === 'upstreamInvalidRequest' || name === 'bodyTooLarge') return undefined
  if (name === 'upstreamBusy') return { kind: 'busy', retryAfterMs: undefined }
  return { kind: 'broken' }
}

/**
 * An error that names our account only in its words counts like a busy upstream: for the account of its request, and for all accounts once several met it. A request
 * can have words of its own repeated.
 */
const troubleOfAccount = (error: NativeError): Trouble =>
  namesOurAccount(error) ? { kind: 'account' } : { kind: 'busy', retryAfterMs: undefined }

/** An HTML page is from a proxy, which refuses our own way to ask. Any other body with this status is about the customer's request, also one that says nothing. */
function invalidRequestFault(upstream: string, request: UpstreamRequest, cause: string, body: string): Fault {
  if (body.trimStart().startsWith('<')) return { ...fault(upstream, 'upstreamBroken', cause), trouble: { kind: 'broken' } }
  const error = errorOfBody(body)
  if (error === undefined) return fault(upstream, 'upstreamInvalidRequest', cause)
  const refusal = refusalOfInvalidRequest(error, request.model)
  const isAlarm = refusal.name === 'upstreamAccount'
  return { kind: 'fault', upstream, refusal, cause, isAlarm, ...(isAlarm ? { trouble: troubleOfAccount(error) } : {}) }
}

function fault(upstream: string, name: RefusalName, cause: string, seconds?: number): Fault {
  const refusal = new Refusal(name, seconds === undefined ? {} : { retryAfterSeconds: seconds })
  return { kind: 'fault', upstream, refusal, cause, isAlarm: false }
}

/** Reads only the seconds form (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3); a date or nonsense counts as not given. */
function retryAfterSeconds(header: string | null): number | undefined {
  const seconds = header === null || header.trim() === '' ? Number.NaN : Number(header)
  return Number.isFinite(seconds) ? seconds : undefined
}
