/** Protects keys.md "Rate headers": both vendors' headers say the tightest limit, to the second, and nothing where none is set. */

import { expect, test } from 'bun:test'
import { rateHeaders } from '../../src/core/rate-headers.ts'
import type { RateLimits } from '../../src/core/token-buckets.ts'

const NOW_MS = Date.UTC(2026, 10, 27, 12, 0, 0, 250)
const NONE: RateLimits = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrentRequests: null }
const levels = { requests: 0, input: 0, output: 0 }

test('requests, input, output, and of tokens the bucket with the smallest part left', () => {
  const limits = { ...NONE, requestsPerMinute: 60, inputTokensPerMinute: 1_000, outputTokensPerMinute: 100 }
  expect(rateHeaders([{ limits, levels: { requests: 2.5, input: 250, output: 80 } }], NOW_MS)).toEqual({
    'anthropic-ratelimit-requests-limit': '60',
    'anthropic-ratelimit-requests-remaining': '57',
    'anthropic-ratelimit-requests-reset': '2026-11-27T12:00:03Z',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '57',
    'x-ratelimit-reset-requests': '3s',
    'anthropic-ratelimit-tokens-limit': '100',
    'anthropic-ratelimit-tokens-remaining': '20',
    'anthropic-ratelimit-tokens-reset': '2026-11-27T12:00:49Z',
    'x-ratelimit-limit-tokens': '100',
    'x-ratelimit-remaining-tokens': '20',
    'x-ratelimit-reset-tokens': '48s',
    'anthropic-ratelimit-input-tokens-limit': '1000',
    'anthropic-ratelimit-input-tokens-remaining': '750',
    'anthropic-ratelimit-input-tokens-reset': '2026-11-27T12:00:16Z',
    'anthropic-ratelimit-output-tokens-limit': '100',
    'anthropic-ratelimit-output-tokens-remaining': '20',
    'anthropic-ratelimit-output-tokens-reset': '2026-11-27T12:00:49Z',
  })
})

test('of a key and its plan the tighter one is told', () => {
  const key = { limits: { ...NONE, requestsPerMinute: 10 }, levels: { ...levels, requests: 1 } }
  const plan = { limits: { ...NONE, requestsPerMinute: 100 }, levels: { ...levels, requests: 90 } }
  expect(rateHeaders([key, plan], NOW_MS)).toMatchObject({ 'x-ratelimit-limit-requests': '100', 'x-ratelimit-remaining-requests': '10' })
  expect(rateHeaders([{ ...key, levels: { ...levels, requests: 9.5 } }, plan], NOW_MS)).toMatchObject({
    'x-ratelimit-limit-requests': '10',
    'x-ratelimit-remaining-requests': '0',
  })
})

test('what is not limited is not told, and a debt of years is told with a year of four digits', () => {
  expect(rateHeaders([{ limits: { ...NONE, concurrentRequests: 3 }, levels }], NOW_MS)).toEqual({})
  expect(rateHeaders([], NOW_MS)).toEqual({})
  const limits = { ...NONE, outputTokensPerMinute: 1 }
  const headers = rateHeaders([{ limits, levels: { ...levels, output: 9e15 } }], NOW_MS)
  expect(headers['anthropic-ratelimit-output-tokens-reset']).toBe('9999-12-31T23:59:59Z')
  expect(rateHeaders([{ limits, levels: { ...levels, output: 6.1 } }], NOW_MS)['x-ratelimit-reset-tokens']).toBe('6m6s')
})
