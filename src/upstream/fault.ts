/** An upstream's failure before its first byte to what the client is told. Rules: faults.md "Before the first byte". */

import { readNativeError, refusalOfInvalidRequest } from '../core/native/error.ts'
import { Refusal, type RefusalName } from '../core/refusal.ts'
import type { Fault, UpstreamRequest } from './upstream.ts'

/** A failure without an answer: refused, reset, DNS, TLS, a connection that never came about. */
export const connectionFault = (upstream: string, cause: string): Fault => fault(upstream, 'upstreamBroken', cause)

/** More calls at once than this upstream may have, for longer than one is let wait. */
export const busyFault = (upstream: string, cause: string): Fault => fault(upstream, 'upstreamBusy', cause)

/** An answer that is not 200. `body` is its text, at most the first kilobytes; it is only read for the native error inside. */
export function statusFault(upstream: string, request: UpstreamRequest, status: number, body: string, retryAfter: string | null): Fault {
  const cause = `status ${status}`
  if (status === 400) return invalidRequestFault(upstream, request, cause, body)
  if (status === 404 && request.path === '/v1/messages/count_tokens') return fault(upstream, 'notFound', cause)
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
      return { ...fault(upstream, 'upstreamAccount', cause), isAlarm: true }
    case 408:
    case 409:
    case 425:
    case 429:
    case 503:
    case 529:
      return fault(upstream, 'upstreamBusy', cause, retryAfterSeconds(retryAfter))
    case 413:
      return fault(upstream, 'bodyTooLarge', cause)
    case 504:
      return fault(upstream, 'timedOut', cause)
    default:
      return fault(upstream, 'upstreamBroken', cause)
  }
}

function invalidRequestFault(upstream: string, request: UpstreamRequest, cause: string, body: string): Fault {
  const error = readNativeError(parse(body))
  if (error.type === '') return fault(upstream, 'upstreamBroken', cause)
  const refusal = refusalOfInvalidRequest(error, request.model)
  return { kind: 'fault', upstream, refusal, cause, isAlarm: refusal.name === 'upstreamAccount' }
}

function fault(upstream: string, name: RefusalName, cause: string, seconds?: number): Fault {
  const refusal = new Refusal(name, seconds === undefined ? {} : { retryAfterSeconds: seconds })
  return { kind: 'fault', upstream, refusal, cause, isAlarm: false }
}

/** Only the seconds form (https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3); a date or nonsense counts as not given. */
function retryAfterSeconds(header: string | null): number | undefined {
  const seconds = header === null || header.trim() === '' ? Number.NaN : Number(header)
  return Number.isFinite(seconds) ? seconds : undefined
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
