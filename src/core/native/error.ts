/** A native error to the refusal that the client gets. Rules: native.md "Errors"; faults.md "Before the first byte", "In a stream". */

import { isObject } from '../json.ts'
import { Refusal } from '../refusal.ts'
import { isAboutOurAccount, type NamedModel, scrubbedText } from './scrubbed-text.ts'

export type NativeError = Readonly<{ type: string; message: string }>

/** Reads `{"type":"error","error":{…}}`; a body of another shape has type ''. */
export function readNativeError(body: unknown): NativeError {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {}
  return { type: text(error['type']), message: text(error['message']) }
}

/** A 400 of the upstream: its own words with our model id, unless they are about our account. */
export function refusalOfInvalidRequest(error: NativeError, model: NamedModel): Refusal {
  if (error.type !== 'invalid_request_error' || isAboutOurAccount(error.message)) return new Refusal('upstreamAccount')
  const message = scrubbedText(error.message, model)
  return new Refusal('upstreamInvalidRequest', message === '' ? {} : { message })
}

/** An `error` event inside a stream. */
export function refusalOfErrorEvent(error: NativeError, model: NamedModel): Refusal {
  switch (error.type) {
    case 'invalid_request_error':
      return refusalOfInvalidRequest(error, model)
    case 'request_too_large':
      return new Refusal('bodyTooLarge')
    case 'authentication_error':
    case 'permission_error':
    case 'billing_error':
    case 'not_found_error':
      return new Refusal('upstreamAccount')
    case 'overloaded_error':
    case 'rate_limit_error':
    case 'conflict_error':
      return new Refusal('upstreamBusy')
    case 'timeout_error':
      return new Refusal('timedOut')
    default:
      return new Refusal('upstreamBroken')
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')
