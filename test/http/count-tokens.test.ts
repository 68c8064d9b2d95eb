/** Counting tokens: forwarded, free, limited like any request, and absent when the upstream has none. Rules: requests.md "Token counts". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import {
  chunk,
  errorAnswer,
  type FakeUpstream,
  head,
  LAST_CHUNK,
  nativeMessage,
  type Script,
  startFakeUpstream,
} from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { addKey } from '../support/ledger.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const PATH = '/v1/messages/count_tokens'
const BODY = { model: MODEL_ID, messages: [{ role: 'user' as const, content: 'Hi' }] }

let upstream: FakeUpstream
let gateway: TestGateway
let secret: string
let script: Script = nativeMessage({ input_tokens: 42 })

beforeAll(async () => {
  upstream = await startFakeUpstream({ answer: () => script })
  gateway = await startTestGateway({ upstreams: [upstream.url] })
  secret = await gateway.createKey()
})

afterAll(async () => {
  await gateway.stop()
  upstream.stop()
})

async function count(body: unknown = BODY, at = gateway, key = secret): Promise<{ status: number; json: unknown; headers: Headers }> {
  const response = await at.post(PATH, key, body)
  return { status: response.status, json: await response.json(), headers: response.headers }
}

const errorOf = (type: string, message: string) => ({ type: 'error', error: { type, message } })

test('the upstream’s count comes back, with the model’s own name gone up, and nothing is charged or held', async () => {
  const { status, json, headers } = await count()
  expect([status, json]).toEqual([200, { input_tokens: 42 }])
  expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
  expect(upstream.requests.at(-1)?.path).toBe(PATH)
  expect(upstream.requests.at(-1)?.json()).toEqual({ ...BODY, model: 'vendor-sonnet-1' })
  expect(gateway.spendOf('key_1')).toEqual({ spentPicos: 0n, heldPicos: 0n })
  expect(gateway.receipts()).toEqual([])
})

test('the vendor’s SDK counts through the gateway, and a query goes up with it', async () => {
  const client = new Anthropic({ apiKey: secret, authToken: null, baseURL: gateway.url, maxRetries: 0 })
  expect((await client.messages.countTokens(BODY)).input_tokens).toBe(42)
  expect((await client.beta.messages.countTokens({ ...BODY, betas: ['token-counting-2024-11-01'] })).input_tokens).toBe(42)
  expect(upstream.requests.at(-1)?.header('anthropic-beta')).toBe('token-counting-2024-11-01')
  expect((await gateway.post(`${PATH}?beta=true`, secret, BODY)).status).toBe(200)
  expect(upstream.requests.at(-1)?.path).toBe(`${PATH}?beta=true`)
})

test('an empty balance counts, a disabled key does not', async () => {
  const poor = await addKey(gateway.ledger, 'key_poor', { now: Date.now() })
  expect((await count(BODY, gateway, poor)).status).toBe(200)
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_poor', isActive: false, now: Date.now() })
  expect((await count(BODY, gateway, poor)).status).toBe(401)
})

test('it counts in the rate limit', async () => {
  await using strict = await startTestGateway({ upstreams: [upstream.url], limits: { requestsPerMinute: 2 } })
  const key = await strict.createKey()
  const statuses = [await count(BODY, strict, key), await count(BODY, strict, key), await count(BODY, strict, key)].map(
    ({ status }) => status,
  )
  expect(statuses).toEqual([200, 200, 429])
})

test('an upstream without it is our 404, and no alarm', async () => {
  for (const body of [{ type: 'error', error: { type: 'not_found_error', message: 'upstream words' } }, '<html>', '']) {
    script = errorAnswer(404, body)
    const { status, json, headers } = await count()
    expect([status, json]).toEqual([404, errorOf('not_found_error', 'The requested API endpoint does not exist')])
    expect(headers.get('x-should-retry')).toBe('false')
  }
  expect(gateway.logLines().filter((line) => 'alarm' in line)).toEqual([])
  script = nativeMessage({ input_tokens: 42 })
})

test('what is no count is a broken upstream, however long or cut it is', async () => {
  const broken: Script[] = [
    nativeMessage('nope'),
    nativeMessage('{"input_tokens":'),
    nativeMessage({ input_tokens: 'many' }),
    nativeMessage({}),
    nativeMessage([42]),
    nativeMessage({ input_tokens: 42, padding: 'x'.repeat(1_000_000) }),
    [head(200, { 'content-type': 'application/json', 'content-length': '100' }), { bytes: '{"input_tokens":42' }, { reset: true }],
    [head(200, { 'content-type': 'text/html', 'transfer-encoding': 'chunked' }), chunk('{"input_tokens":42}'), LAST_CHUNK],
    [{ reset: true }],
    errorAnswer(500, 'secret words'),
  ]
  for (const [index, next] of broken.entries()) {
    script = next
    const { status, json } = await count()
    expect([index, status, json]).toEqual([index, 502, errorOf('server_error', 'Service temporarily unavailable; retry later')])
  }
  script = nativeMessage({ input_tokens: 42 })
  expect((await count()).status).toBe(200)
})

test('an upstream that hangs is 504, before its head and after it', async () => {
  await using hasty = await startTestGateway({ upstreams: [upstream.url], limits: { startTimeoutMs: 100, totalTimeoutMs: 5_000 } })
  const key = await hasty.createKey()
  for (const next of [
    [{ stall: true }],
    [head(200, { 'content-type': 'application/json', 'content-length': '100' }), { bytes: '{' }, { stall: true }],
  ] as Script[]) {
    script = next
    const { status, json } = await count(BODY, hasty, key)
    expect([status, json]).toEqual([504, errorOf('server_error', 'Service timed out; retry later')])
  }
  script = nativeMessage({ input_tokens: 42 })
})

test('a client that leaves takes its upstream call with it, and its place among the key’s requests is free again', async () => {
  await using narrow = await startTestGateway({ upstreams: [upstream.url], limits: { concurrentRequests: 1 } })
  const key = await narrow.createKey()
  const half = [head(200, { 'content-type': 'application/json', 'content-length': '100' }), { bytes: '{' }]
  for (const next of [[{ stall: true }], [...half, { stall: true }]] as Script[]) {
    script = next
    const index = upstream.requests.length
    const client = await connectRaw(narrow.url)
    await client.send(rawRequest('POST', PATH, { authorization: `Bearer ${key}` }, JSON.stringify(BODY)))
    const request = await upstream.arrival(index)
    await Bun.sleep(50)
    expect([request.abortedAtMs, (await count(BODY, narrow, key)).status]).toEqual([undefined, 429])
    client.reset()
    await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
    script = nativeMessage({ input_tokens: 42 })
    expect((await count(BODY, narrow, key)).status).toBe(200)
  }
  const lines = narrow.logLines().filter(({ outcome }) => outcome === 'leaver')
  expect(lines).toMatchObject([{ route: PATH }, { route: PATH }])
  expect(lines.some((line) => 'cause' in line || 'refusal' in line)).toBe(false)
})

test('it is validated as messages are, without `max_tokens`', async () => {
  const wrong: [unknown, string][] = [
    [{ ...BODY, model: undefined }, 'model: Field required'],
    [{ ...BODY, messages: undefined }, 'messages: Field required'],
    [{ ...BODY, model: 'gpt-9' }, 'Model gpt-9 is not available on this API key'],
  ]
  const before = upstream.requests.length
  for (const [body, message] of wrong)
    expect(await count(body)).toMatchObject({ status: 400, json: errorOf('invalid_request_error', message) })
  expect(upstream.requests.length).toBe(before)
})

test('an upstream that counts no tokens is not asked for them: the next one that does is', async () => {
  const other = await startFakeUpstream({ answer: () => nativeMessage({ input_tokens: 43 }) })
  for (const countTokens of ['no', 'estimate'] as const) {
    const two = await startTestGateway({ upstreams: [upstream.url, other.url], upstreamEach: [{ countTokens }] })
    const before = upstream.requests.length
    try {
      const { json, headers } = await count(BODY, two, await two.createKey())
      expect([json, headers.get('x-tokens-estimated')]).toEqual([{ input_tokens: 43 }, null])
      expect(upstream.requests).toHaveLength(before)
    } finally {
      await two.stop()
    }
  }
  other.stop()
})

test('where no upstream counts it is 404, and with `estimate` our own figure, which says so', async () => {
  const none = await startTestGateway({ upstreams: [upstream.url], upstream: { countTokens: 'no' } })
  const ours = await startTestGateway({ upstreams: [upstream.url], upstream: { countTokens: 'estimate' } })
  const before = upstream.requests.length
  try {
    expect(await count(BODY, none, await none.createKey())).toMatchObject({ status: 404 })
    const key = await ours.createKey()
    const small = await count(BODY, ours, key)
    expect([small.status, small.headers.get('x-tokens-estimated')]).toEqual([200, 'true'])
    const bytes = JSON.stringify({ ...BODY, model: 'vendor-sonnet-1' }).length
    expect(small.json).toEqual({ input_tokens: Math.floor(bytes / 4) })
    const large = await count({ ...BODY, messages: [{ role: 'user', content: 'word '.repeat(4_000) }] }, ours, key)
    expect(large.json).toEqual({ input_tokens: Math.floor((bytes + 20_000 - 2) / 4) })
    expect(upstream.requests).toHaveLength(before)
    expect(await count({ ...BODY, model: 'nothing' }, ours, key)).toMatchObject({ status: 400 })
    expect(ours.spendOf('key_1')).toEqual({ spentPicos: 0n, heldPicos: 0n })
  } finally {
    await none.stop()
    await ours.stop()
  }
})

test('where the one that counts fails, an estimate stands in for the other; a mistake of the request stays one', async () => {
  const two = await startTestGateway({ upstreams: [upstream.url, 'http://127.0.0.1:1'], upstreamEach: [{}, { countTokens: 'estimate' }] })
  const before = script
  try {
    const key = await two.createKey()
    script = errorAnswer(500, {})
    expect((await count(BODY, two, key)).headers.get('x-tokens-estimated')).toBe('true')
    script = errorAnswer(400, errorOf('invalid_request_error', 'messages: wrong'))
    expect(await count(BODY, two, key)).toMatchObject({ status: 400 })
  } finally {
    script = before
    await two.stop()
  }
})
