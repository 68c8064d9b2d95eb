/** A refusal of the operator's API: a value, in the shape of the contract's errors. Rules: operator-api.md "Errors"; contract.md "Errors". */

import { t } from 'elysia'
import type { Unread } from '../../ledger/reading/reports.ts'

const TYPES = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'invalid_request_error',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'server_error',
} as const
export type FailureStatus = keyof typeof TYPES

/** The words of a client's name in a message are cut to so many. */
const NAME_CHARS_MAX = 100

export class Failure {
  readonly status: FailureStatus
  readonly message: string
  /** Whole seconds; undefined: the request must not be sent again as it is. */
  readonly retryAfterS: number | undefined

  constructor(status: FailureStatus, message: string, retryAfterS?: number) {
    this.status = status
    this.message = message
    this.retryAfterS = retryAfterS
  }

  get body() {
    return { type: 'error', error: { type: TYPES[this.status], message: this.message } } as const
  }
}

/** 400 that names the field. */
export const wrong = (field: string, problem: string): Failure => new Failure(400, `${field.slice(0, NAME_CHARS_MAX)}: ${problem}`)
/** The same for what does not exist and for what the token does not see. */
export const missing = (): Failure => new Failure(404, 'There is nothing with this id')
export const busy = (message = 'The ledger cannot be read at this moment; retry later'): Failure => new Failure(503, message, 1)
export const peopleAway = (): Failure => busy('The people cannot be asked at this moment; retry later')
export const tooMany = (seconds: number): Failure => new Failure(429, 'Rate limit exceeded; retry later', seconds)
/** Where the ledger's reader did not answer. */
export const unread = (why: Unread): Failure => (why === 'tooMany' ? tooMany(1) : busy())
export const forbidden = (message: string): Failure => new Failure(403, message)

/** Writes what a route found: a document, or why there is none. The mount adds the headers of every answer. */
export function answer(found: object): Response {
  if (!(found instanceof Failure)) return Response.json(found)
  const { status, retryAfterS } = found
  return Response.json(found.body, { status, headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) } })
}

const ERROR = t.Object(
  {
    type: t.Literal('error'),
    error: t.Object({ type: t.String({ description: 'One of the contract’s types of errors' }), message: t.String() }),
  },
  { title: 'Error', description: 'Why nothing was done' },
)

/** The errors that every route may answer. */
export const ERRORS = { 400: ERROR, 401: ERROR, 403: ERROR, 404: ERROR, 429: ERROR, 503: ERROR } as const
