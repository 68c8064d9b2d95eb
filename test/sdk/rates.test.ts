/** Both vendors' SDKs read how the rates of a plan stand, as from their own service, and wait as long as they are told before they ask again. Rules: keys.md "Rate headers". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { rateLimitsOf } from '../../src/core/token-buckets.ts'
import { MESSAGE, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID } from '../support/gateway.ts'
import { type Stage, startStage } from '../support/stage.ts'

let site: Stage
beforeAll(async () => {
  site = await startStage()
  const isStream = (json: unknown): boolean => Object(json).stream === true
  site.play((request) => (isStream(request.json()) ? nativeStream(...textFrames('Good day')) : nativeMessage(MESSAGE)))
})
afterAll(() => site.stop())

/** A key whose plan has these rates alone. */
function rated(plan: string, rates: Parameters<typeof rateLimitsOf>[0]): Promise<string> {
  const limits = rateLimitsOf(rates)
  if (limits === undefined) throw new Error('no rates')
  const catalog = site.gateway.world.catalog()
  site.gateway.reload({ catalog: { ...catalog, plans: new Map([...catalog.plans, [plan, { name: plan, models: ['*'], rates: limits }]]) } })
  return site.gateway.createKey({ id: `key_${plan}`, plan })
}

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }]

test('the Anthropic SDK gets limit, remaining and reset of requests and tokens, on answers, streams and errors', async () => {
  const secret = await rated('native', { requestsPerMinute: 2, inputTokensPerMinute: 100_000, outputTokensPerMinute: 50_000 })
  const client = new Anthropic({ apiKey: secret, authToken: null, baseURL: site.gateway.url, maxRetries: 0 })
  const ask = { model: MODEL_ID, max_tokens: 64, messages: MESSAGES }
  const { response } = await client.messages.create(ask).withResponse()
  expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBe('2')
  expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('1')
  const reset = Date.parse(response.headers.get('anthropic-ratelimit-requests-reset') ?? '')
  expect(reset - Date.now()).toBeWithin(20_000, 32_000)
  expect(Number(response.headers.get('anthropic-ratelimit-input-tokens-remaining'))).toBeWithin(99_000, 100_001)
  const stream = await client.messages.create({ ...ask, stream: true }).withResponse()
  expect(stream.response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0')
  for await (const _event of stream.data);
  const refused = await client.messages.create(ask).catch((error: unknown) => error)
  if (!(refused instanceof Anthropic.RateLimitError)) throw new Error(`no RateLimitError: ${String(refused)}`)
  expect(refused.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0')
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(20, 31)
})

test('the OpenAI SDK gets the same under its own names', async () => {
  const secret = await rated('chat', { requestsPerMinute: 1, outputTokensPerMinute: 50_000 })
  const client = new OpenAI({ apiKey: secret, baseURL: `${site.gateway.url}/v1`, maxRetries: 0 })
  const ask = { model: MODEL_ID, messages: MESSAGES }
  const { response } = await client.chat.completions.create(ask).withResponse()
  expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1')
  expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  expect(response.headers.get('x-ratelimit-reset-requests')).toMatch(/^(?:1m0s|5\ds)$/)
  expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('50000')
  const refused = await client.chat.completions.create(ask).catch((error: unknown) => error)
  if (!(refused instanceof OpenAI.RateLimitError)) throw new Error(`no RateLimitError: ${String(refused)}`)
  expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  expect(refused.headers.get('retry-after')).toBe('30')
})
