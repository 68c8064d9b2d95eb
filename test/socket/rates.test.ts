/**
 * Protects keys.md "Rates", "Rate headers": an account has its requests and tokens a minute once over all its keys of a plan, ends correct what was counted, refusals cost
 * nothing, and every answer says how the rates stand.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type RateLimits, rateLimitsOf } from '../../src/core/token-buckets.ts'
import { newKey } from '../../src/ledger/operations/key-writes.ts'
import { COUNTED, MESSAGE } from '../support/answered-gateway.ts'
import { type FakeUpstream, nativeMessage, nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

let upstream: FakeUpstream
let gateway: TestGateway
let script: () => Script
beforeAll(async () => {
  const answer = ({ path }: Readonly<{ path: string }>): Script => (path.endsWith('count_tokens') ? nativeMessage(COUNTED) : script())
  upstream = await startFakeUpstream({ answer })
  gateway = await startTestGateway({ upstreams: [upstream.url] })
})
afterAll(async () => {
  await gateway.stop()
  upstream.stop()
})
beforeEach(() => {
  script = () => nativeMessage(MESSAGE)
})

/** So few a minute that none flows back within a test, however slow the machine is: each takes ten seconds. */
const FEW = 6

let plans = 0
/** A key of an account of its own, on a plan of its own with these rates. */
async function keyWith(rates: Partial<RateLimits>): Promise<{ secret: string; keyId: string; accountId: string; plan: string }> {
  const plan = `plan-${++plans}`
  const catalog = gateway.world.catalog()
  const limits = rateLimitsOf(rates)
  const one = { name: plan, models: ['*'], ...(limits === undefined ? {} : { rates: limits }) }
  gateway.reload({ catalog: { ...catalog, plans: new Map([...catalog.plans, [plan, one]]) } })
  const keyId = `key_rated${plans}`
  const secret = await gateway.createKey({ id: keyId, plan })
  return { secret, keyId, accountId: `acc_rated${plans}`, plan }
}

async function furtherKey(accountId: string, plan: string): Promise<string> {
  const keyId = `key_more${++plans}`
  const wanted = { keyId, name: '', accountId, plan, limitPicos: null, expiresInDays: null, topUp: null }
  const { operation, secret } = newKey(wanted, Date.now())
  await gateway.operate(operation)
  return secret
}

const body = (words = 'Hi', more = {}) => ({ model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: words }], ...more })
const ask = (secret: string, words?: string, more?: object, init?: RequestInit): Promise<Response> =>
  gateway.post('/v1/messages', secret, body(words, more), init)
const left = (response: Response, what: string): number => Number(response.headers.get(`anthropic-ratelimit-${what}-remaining`))
/** About so many tokens of text. */
const words = (tokens: number): string => 'x'.repeat(tokens * 4)

test('requests a minute are an account’s over all its keys of the plan, and of no other account or plan', async () => {
  const first = await keyWith({ requestsPerMinute: 3 })
  const second = await furtherKey(first.accountId, first.plan)
  expect((await ask(first.secret)).status).toBe(200)
  expect((await ask(second)).status).toBe(200)
  const third = await ask(second)
  expect([third.status, left(third, 'requests')]).toEqual([200, 0])
  for (const secret of [first.secret, second]) {
    const refused = await ask(secret)
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { type: 'rate_limit_error' } }])
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(15, 21)
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  }
  expect((await ask((await keyWith({ requestsPerMinute: 3 })).secret)).status).toBe(200)
  expect((await ask(await furtherKey(first.accountId, 'default'))).status).toBe(200)
})

describe('tokens', () => {
  test('the text counts as input when the request comes, what the upstream counted at its end, cache reads not', async () => {
    const { secret } = await keyWith({ inputTokensPerMinute: 60_000, outputTokensPerMinute: 6_000 })
    script = () =>
      nativeMessage({
        ...MESSAGE,
        usage: { input_tokens: 30_000, output_tokens: 700, cache_read_input_tokens: 90_000, cache_creation_input_tokens: 5_000 },
      })
    const whole = await ask(secret, words(2_000))
    expect(left(whole, 'input-tokens')).toBeWithin(25_000, 30_000)
    expect(left(whole, 'output-tokens')).toBeWithin(5_300, 5_800)
    const gate = Promise.withResolvers<void>()
    const frames = textFrames('Good morning')
    script = () => nativeStream(...frames.slice(0, 3), { when: gate.promise }, ...frames.slice(3))
    const stream = await ask(secret, words(20_000), { stream: true })
    // The head is out before the end: it says what was counted when the request came.
    expect(left(stream, 'input-tokens')).toBeWithin(4_500, 12_000)
    gate.resolve()
    await stream.text()
    await gateway.idle()
    script = () => nativeMessage(MESSAGE)
    expect(left(await ask(secret), 'input-tokens')).toBeGreaterThan(24_000)
  })

  test('output of which more was taken than there is refuses the next request, with a true time', async () => {
    const { secret } = await keyWith({ outputTokensPerMinute: 100 })
    script = () => nativeMessage({ ...MESSAGE, usage: { input_tokens: 5, output_tokens: 110 } })
    const first = await ask(secret)
    expect([first.status, left(first, 'output-tokens'), first.headers.get('x-ratelimit-remaining-tokens')]).toEqual([200, 0, '0'])
    const refused = await ask(secret)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(5, 8)
    // Counting and listing take no tokens.
    expect((await gateway.post('/v1/messages/count_tokens', secret, body())).status).toBe(200)
    expect((await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': secret } })).status).toBe(200)
  })

  test('where nothing is taken a request of any size is let in, and none after it until that has flowed back', async () => {
    const { secret } = await keyWith({ inputTokensPerMinute: 1_000 })
    script = () => nativeMessage({ ...MESSAGE, usage: { input_tokens: 20_000, output_tokens: 1 } })
    expect((await ask(secret, words(20_000))).status).toBe(200)
    const refused = await ask(secret)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30'])
    expect(left(refused, 'input-tokens')).toBe(0)
  })

  test('a request that does not fit is refused when it is read, costs nothing and takes nothing of the minute', async () => {
    const { secret, keyId } = await keyWith({ requestsPerMinute: FEW, inputTokensPerMinute: 1_000 })
    script = () => nativeMessage({ ...MESSAGE, usage: { input_tokens: 100, output_tokens: 1 } })
    expect((await ask(secret)).status).toBe(200)
    const before = upstream.requests.length
    await gateway.idle()
    const spent = gateway.spendOf(keyId)
    for (let n = 0; n < 5; n++) expect((await ask(secret, words(950))).status).toBe(429)
    const fits = await ask(secret, words(300))
    expect([fits.status, left(fits, 'requests')]).toEqual([200, FEW - 2])
    expect(upstream.requests.length - before).toBe(1)
    await gateway.idle()
    expect(gateway.spendOf(keyId)).toEqual({ spentPicos: spent.spentPicos * 2n, heldPicos: 0n })
  })

  test('a request that its upstream fails, or that has no money, takes no tokens', async () => {
    const { secret } = await keyWith({ inputTokensPerMinute: 100_000, requestsPerMinute: 100 })
    script = () => nativeMessage({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } })
    const failed = await ask(secret, words(50_000))
    expect(failed.status).toBeGreaterThanOrEqual(400)
    script = () => nativeMessage(MESSAGE)
    expect(left(await ask(secret), 'input-tokens')).toBeGreaterThan(99_900)
  })
})

test('requests at once are an account’s over its keys, each place comes back, and refusals and joined answers take none', async () => {
  const first = await keyWith({ concurrentRequests: 2 })
  const second = await furtherKey(first.accountId, first.plan)
  const gate = Promise.withResolvers<void>()
  script = () => [{ when: gate.promise }, ...nativeMessage(MESSAGE)]
  const before = upstream.requests.length
  const headers = { authorization: `Bearer ${first.secret}`, 'idempotency-key': 'one' }
  const running = [ask(first.secret, 'Hi', {}, { headers }), ask(second)]
  await until(() => upstream.requests.length - before === 2, 'both run')
  for (let n = 0; n < 20; n++) expect((await ask(n % 2 === 0 ? second : first.secret)).status).toBe(429)
  const joined = ask(first.secret, 'Hi', {}, { headers })
  gate.resolve()
  expect((await Promise.all([...running, joined])).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(upstream.requests.length - before).toBe(2)
  script = () => nativeMessage(MESSAGE)
  for (let n = 0; n < 5; n++) expect((await ask(second)).status).toBe(200)
})

test('a request that is refused after it was counted, because money is held, counts as never asked', async () => {
  const { plan } = await keyWith({ requestsPerMinute: FEW, concurrentRequests: 2 })
  const secret = await gateway.createKey({ id: 'key_held', plan, balanceUsd: '0.0001' })
  const gate = Promise.withResolvers<void>()
  script = () => [{ when: gate.promise }, ...nativeMessage(MESSAGE)]
  const before = upstream.requests.length
  const first = ask(secret)
  await until(() => upstream.requests.length - before === 1, 'it runs')
  for (let n = 0; n < 5; n++) {
    const refused = await ask(secret)
    expect([refused.status, left(refused, 'requests')]).toEqual([429, FEW - 1])
  }
  gate.resolve()
  expect((await first).status).toBe(200)
})

test('a hundred requests at the last of a minute: exactly what there was is let in', async () => {
  const { secret } = await keyWith({ requestsPerMinute: FEW })
  const statuses = (await Promise.all(Array.from({ length: 100 }, () => ask(secret)))).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200).length).toBe(FEW)
})

describe('headers', () => {
  test('stand on refusals of all kinds, on models and on count_tokens, and not where the plan sets none', async () => {
    const { secret } = await keyWith({ requestsPerMinute: FEW })
    const wrong = await ask(secret, 'Hi', { model: 'none' })
    expect([wrong.status, left(wrong, 'requests')]).toEqual([400, FEW])
    const counted = await gateway.post('/v1/messages/count_tokens', secret, body())
    expect([counted.status, left(counted, 'requests')]).toEqual([200, FEW - 1])
    const models = await fetch(`${gateway.url}/v1/models`, { headers: { 'x-api-key': secret } })
    expect([models.status, left(models, 'requests')]).toEqual([200, FEW - 2])
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const more = path.endsWith('responses') ? { model: MODEL_ID, input: 'Hi' } : body()
      const answer = await gateway.post(path, secret, more)
      expect([answer.status, answer.headers.get('x-ratelimit-limit-requests')]).toEqual([200, `${FEW}`])
      expect(answer.headers.get('access-control-expose-headers')).toContain('anthropic-ratelimit-requests-remaining')
    }
    const plain = await ask(await gateway.createKey())
    expect([...plain.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([])
  })
})

test('a key has rates of its own beside those of its plan, from the turn in which an operator sets them, and until they are taken away', async () => {
  const { secret, keyId, accountId, plan } = await keyWith({ requestsPerMinute: FEW })
  const other = await furtherKey(accountId, plan)
  expect((await ask(secret)).headers.get('x-ratelimit-limit-requests')).toBe(`${FEW}`)
  const rates = rateLimitsOf({ requestsPerMinute: 2, concurrentRequests: 1 }) ?? null
  await gateway.operate({ kind: 'setKeyRates', keyId, rates, now: Date.now() })
  const [first, second, refused] = [await ask(secret), await ask(secret), await ask(secret)]
  expect([first.status, second.status, refused.status]).toEqual([200, 200, 429])
  expect([refused.headers.get('x-ratelimit-limit-requests'), left(refused, 'requests')]).toEqual(['2', 0])
  // What one key was refused takes nothing of what the others share.
  expect(left(await ask(other), 'requests')).toBe(FEW - 4)
  await gateway.operate({ kind: 'setKeyRates', keyId, rates: null, now: Date.now() })
  expect((await ask(secret)).status).toBe(200)
})

test('a reload changes the rates at once, for buckets that are in use as well', async () => {
  const { secret, plan } = await keyWith({ requestsPerMinute: 1 })
  expect((await ask(secret)).status).toBe(200)
  expect((await ask(secret)).status).toBe(429)
  const catalog = gateway.world.catalog()
  const rates = rateLimitsOf({ requestsPerMinute: 100 })
  if (rates === undefined) throw new Error('no rates')
  gateway.reload({ catalog: { ...catalog, plans: new Map([...catalog.plans, [plan, { name: plan, models: ['*'], rates }]]) } })
  expect((await ask(secret)).status).toBe(200)
})
