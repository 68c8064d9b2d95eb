/** What a failure without an answer says of its upstream. Rules: faults.md "Before the first byte", "Whose mistake a 400 is"; pool.md "Breaker", "Busy". */

import { expect, test } from 'bun:test'
import { readNativeError } from '../../src/core/native/error.ts'
import { connectionFault, errorEventFault, statusFault } from '../../src/upstream/fault.ts'
import type { UpstreamRequest } from '../../src/upstream/upstream.ts'

test('where no connection came about the upstream is dead, what broke on one is broken, and what is ours blames nobody', () => {
  for (const [causes, kind] of [
    [['refused', 'dns', 'tls', 'connect', 'connect timeout'], 'dead'],
    [['reset', 'malformed'], 'broken'],
    [['aborted', 'request', 'not configured'], undefined],
  ] as const)
    for (const cause of causes) {
      const { trouble, refusal } = connectionFault('north', cause)
      expect([cause, trouble?.kind, refusal.name]).toEqual([cause, kind, 'upstreamBroken'])
    }
})

test('a name for our account puts an upstream out for everyone, words alone for whoever met them: a request can have words repeated', () => {
  const request = { model: { id: 'm', upstreamModel: 'm' }, path: '/v1/messages' } as unknown as UpstreamRequest
  const reply = { upstream: 'north', hidesErrorText: false }
  for (const [error, kind] of [
    [{ type: 'billing_error', message: '' }, 'account'],
    [{ type: 'invalid_request_error', code: 'insufficient_quota', message: '' }, 'account'],
    [{ type: 'invalid_request_error', message: 'Your credit balance is too low' }, 'busy'],
    [{ type: 'invalid_request_error', message: 'your account: Extra inputs are not permitted' }, 'busy'],
  ] as const) {
    const status = statusFault('north', request, 400, JSON.stringify({ type: 'error', error }), null)
    expect([error, status.trouble?.kind, status.isAlarm]).toEqual([error, kind, true])
    const event = errorEventFault(reply, readNativeError({ error }), request.model)
    expect([error, event.trouble?.kind, event.isAlarm]).toEqual([error, kind, true])
  }
})

test("another 400 is the customer's, whatever its type and shape: it blames no upstream, alarms nobody and is no reason to ask another", () => {
  const request = { model: { id: 'm', upstreamModel: 'm' }, path: '/v1/messages' } as unknown as UpstreamRequest
  for (const body of [
    { type: 'error', error: { type: 'invalid_request_error', message: 'messages: Field required' } },
    { error: { type: 'exceed_context_size_error', code: 400, message: 'too long', n_prompt_tokens: 9_000, n_ctx: 4_096 } },
    { object: 'error', type: 'BadRequestError', message: 'no such parameter', code: 400 },
    { error: { type: 'unheard_of', message: 'no' } },
    { error: { type: 'api_error', message: 'no' } },
    { detail: 'no' },
    {},
  ]) {
    const fault = statusFault('north', request, 400, JSON.stringify(body), null)
    expect([body, fault.refusal.name, fault.trouble, fault.isAlarm]).toEqual([body, 'upstreamInvalidRequest', undefined, false])
  }
})
