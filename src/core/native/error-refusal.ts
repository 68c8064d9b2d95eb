/** Maps an upstream's error to the refusal that the client gets. Rules: faults.md "Before the first byte", "In a stream", "Whose mistake a 400 is". */

import { Refusal, type RefusalName } from '../refusal.ts'
import { contextLengthMessage } from './context-length.ts'
import type { NativeError } from './error.ts'
import { isAboutOurAccount, type NamedModel, scrubbedText } from './scrubbed-text.ts'

/** The class of an upstream error; `ROWS` maps each class to a row of the error table. */
type Finding = 'request' | 'size' | 'account' | 'busy' | 'time' | 'broken'

/** The class of an error by its type or code, as `wordOf` writes it. */
const FINDINGS: ReadonlyMap<string, Finding> = new Map([
  ['invalid_request', 'request'],
  ['bad_request', 'request'],
  ['validation', 'request'],
  ['unprocessable_entity', 'request'],
  ['exceed_context_size', 'request'],
  ['context_length_exceeded', 'request'],
  ['context_window_exceeded', 'request'],
  ['request_too_large', 'size'],
  ['overloaded', 'busy'],
  ['rate_limit', 'busy'],
  ['rate_limit_exceeded', 'busy'],
  ['too_many_requests', 'busy'],
  ['service_unavailable', 'busy'],
  ['unavailable', 'busy'],
  ['conflict', 'busy'],
  ['timeout', 'time'],
  ['not_found', 'account'],
  ['model_not_found', 'account'],
  ['api', 'broken'],
])

/** Words in an error's type or code that name our account, key or quota with the upstream as the problem, such as `billing_error`. */
const ACCOUNT_WORD =
  /(?:^|_)(?:auth|authentication|unauthorized|permission|forbidden|access_denied|billing|payment|budget|credits?|quota|api_key|account|org|organi[sz]ation|cmek|workspace|subscription)(?:_|$)/

/** `BadRequestError` and `bad_request_error` are `bad_request`. */
const wordOf = (name: string): string =>
  name
    .slice(0, NAME_LENGTH_MAX)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/_(?:error|exception)$/, '')

const NAME_LENGTH_MAX = 100

function findingOf(name: string): Finding | undefined {
  const word = wordOf(name)
  return FINDINGS.get(word) ?? (ACCOUNT_WORD.test(word) ? 'account' : undefined)
}

/** The class of an error by its HTTP status; every other status is `broken`. */
const STATUSES: ReadonlyMap<number, Finding> = new Map([
  ...[400, 422].map((status) => [status, 'request'] as const),
  ...[401, 402, 403, 404].map((status) => [status, 'account'] as const),
  ...[408, 409, 425, 429, 503, 529].map((status) => [status, 'busy'] as const),
  [413, 'size'],
  [504, 'time'],
])

/** LiteLLM answers an unknown model with 400, where other servers answer 404. The name comes from our configuration, so the mistake is not the customer's. */
const OUR_MODEL = /^(?:\w+: )?Invalid model name passed in model=/

/** The row of the error table for an HTTP status of an error. */
export const rowOfStatus = (status: number): RefusalName => ROWS[STATUSES.get(status) ?? 'broken']

/**
 * The refusal for an upstream's 400: the customer's mistake, in the upstream's words with our model id. An error about our account becomes `upstreamAccount`.
 */
export function refusalOfInvalidRequest(error: NativeError, model: NamedModel): Refusal {
  const { message, errorCode } = error
  const isOurs = namesOurAccount(error) || isAboutOurAccount(message) || OUR_MODEL.test(message)
  if (isOurs) return new Refusal('upstreamAccount')
  const told = scrubbedText(contextLengthMessage(error) ?? message, model)
  return new Refusal('upstreamInvalidRequest', {
    ...(told === '' ? {} : { message: told }),
    ...(errorCode === undefined ? {} : { errorCode }),
  })
}

/**
 * Whether the error's type or a code names our account. The message does not count here: it may quote the request, and no request can choose the type and the
 * codes.
 */
export const namesOurAccount = ({ type, code, errorCode = '' }: NativeError): boolean =>
  [type, code, errorCode].some((name) => findingOf(name) === 'account')

const ROWS: Readonly<Record<Finding, RefusalName>> = {
  request: 'upstreamInvalidRequest',
  size: 'bodyTooLarge',
  account: 'upstreamAccount',
  busy: 'upstreamBusy',
  time: 'timedOut',
  broken: 'upstreamBroken',
}

/** The refusal for an error event inside a stream. A stream has no status, so the error's type gives the class, else its code, else its message. */
export function refusalOfErrorEvent(error: NativeError | undefined, model: NamedModel): Refusal {
  const finding = error === undefined ? 'broken' : findingOfEvent(error)
  return error !== undefined && finding === 'request' ? refusalOfInvalidRequest(error, model) : new Refusal(ROWS[finding])
}

function findingOfEvent(error: NativeError): Finding {
  const told = findingOf(error.type) ?? findingOf(error.code) ?? STATUSES.get(Number(error.code))
  return told ?? (contextLengthMessage(error) === undefined ? 'broken' : 'request')
}
