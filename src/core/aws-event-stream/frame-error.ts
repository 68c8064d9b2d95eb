/** A frame that ends a stream with an error, as the native error event that means the same. Rules: native.md "Binary frames"; faults.md "In a stream". */

import { type ByteString, decode } from '../bytes/byte-string.ts'
import { isObject, type JsonObject } from '../json.ts'
import { writeNativeEvent } from '../native/event.ts'

/** The HTTP status with which each kind of error is answered before a stream begins; it leads to the row in the table of faults. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['internalServerException', 500],
  ['modelStreamErrorException', 424],
  ['modelTimeoutException', 408],
  ['serviceUnavailableException', 503],
  ['throttlingException', 429],
  ['validationException', 400],
])

/** `kind` is the header `:exception-type`. The kind's name gives the type where it is known as one, else the kind's status does; an unknown kind counts as a 500. */
export function exceptionEvent(kind: string, payload: ByteString): ByteString {
  const said = objectOf(payload)
  const original = said['originalStatusCode']
  const status = isErrorStatus(original) ? original : (STATUSES.get(kind) ?? 500)
  return errorEvent(kind, status, said['originalMessage'] ?? said['message'] ?? said['Message'])
}

/** A frame of type `error`: AWS itself, not the model, failed; code and message stand in its headers. */
export const unmodeledErrorEvent = (code: string, message: string): ByteString => errorEvent(code, STATUSES.get(code) ?? 500, message)

const errorEvent = (type: string, status: number, message: unknown): ByteString =>
  writeNativeEvent('error', { error: { type, code: String(status), message: typeof message === 'string' ? message : '' } })

const isErrorStatus = (status: unknown): status is number => Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599

function objectOf(payload: ByteString): JsonObject {
  try {
    const json: unknown = JSON.parse(decode(payload))
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}
