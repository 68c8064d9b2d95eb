/** The table of errors, word by word, and what each says about a retry. Rules: contract.md "Errors"; requests.md "Retry signals". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { insufficientBalance, invalid, modelUnavailable, REFUSALS, Refusal, type RefusalName } from '../../src/core/refusal.ts'
import { errorBody, errorHeaders, nativeErrorBody } from '../../src/core/refusal-body.ts'

const names = Object.keys(REFUSALS) as RefusalName[]

/** The contract's table of errors, word by word: contract.md "Errors". */
const SPEC: readonly [number, string, string][] = [
  [400, 'invalid_request_error', 'Model x is not available on this API key'],
  [401, 'authentication_error', 'Invalid API key'],
  [401, 'authentication_error', 'API key is required'],
  [401, 'authentication_error', 'API key is disabled'],
  [403, 'permission_error', 'API key expired'],
  [404, 'not_found_error', 'The requested API endpoint does not exist'],
  [413, 'invalid_request_error', 'request body exceeds size limit'],
  [429, 'insufficient_balance', 'Insufficient balance on this API key. Top up: https://top.up'],
  [429, 'rate_limit_error', 'Rate limit exceeded; retry later'],
  [500, 'server_error', 'Service temporarily unavailable; retry later'],
  [502, 'server_error', 'Service temporarily unavailable; retry later'],
  [503, 'server_error', 'Temporary provider issue on our side, retry in a minute'],
  [503, 'server_error', 'Service temporarily unavailable; retry later'],
  [504, 'server_error', 'Service timed out; retry later'],
]

test('every row of the contract is there, with its exact status, type and message', () => {
  const refusals = [...names.map((name) => new Refusal(name)), modelUnavailable('x'), insufficientBalance('https://top.up')]
  const rows = refusals.map((refusal) => [refusal.row.status, refusal.row.type, refusal.message])
  for (const row of SPEC) expect(rows).toContainEqual(row)
})

test('the body has the one shape of the contract; a code only on the balance error, details only on messages', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.option(fc.string(), { nil: undefined }),
      fc.option(fc.string(), { nil: undefined }),
      (name, message, errorCode) => {
        const refusal = new Refusal(name, { ...(message !== undefined && { message }), ...(errorCode !== undefined && { errorCode }) })
        const body = errorBody(refusal)
        expect(Object.keys(body)).toEqual(['type', 'error'])
        expect(body.type).toBe('error')
        expect(body.error.message).toBe(message ?? REFUSALS[name].message)
        expect(body.error.code).toBe(name === 'insufficientBalance' ? 'insufficient_quota' : undefined)
        expect(body.error.details).toBeUndefined()
        const details = errorCode === undefined ? {} : { details: { error_code: errorCode } }
        expect(nativeErrorBody(refusal)).toEqual({ type: 'error', error: { ...body.error, ...details } })
        expect(Object.values(body.error)).not.toContain(undefined)
      },
    ),
  )
})

test('what must not be retried says so; what may be retried says when, in whole seconds from 1 to 30', () => {
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.option(fc.oneof(fc.double(), fc.integer()), { nil: undefined }), (name, seconds) => {
      const refusal = new Refusal(name, seconds === undefined ? {} : { retryAfterSeconds: seconds })
      const headers = errorHeaders(refusal)
      expect(headers['content-type']).toBe('application/json')
      const { status } = REFUSALS[name]
      const isFinal = status < 429 || name === 'insufficientBalance'
      expect(headers['x-should-retry']).toBe(isFinal ? 'false' : (undefined as unknown as string))
      if (isFinal) expect(headers).not.toHaveProperty('retry-after')
      else expect(headers['retry-after']).toMatch(/^([1-9]|[12]\d|30)$/)
    }),
  )
})

test('a refusal names the field, and cuts a long model id', () => {
  expect(invalid('max_tokens', 'Field required').message).toBe('max_tokens: Field required')
  expect(modelUnavailable('m'.repeat(10_000)).message.length).toBeLessThan(300)
})
