/**
 * Gateways on one Postgres, over HTTP: what a key may do on all of them together, what only the node that answered knows, and when a node says that it is not ready.
 * Protects keys.md "Limits over nodes", nodes.md "Nodes that differ", requests.md "Remembered answers", operator.md "Health".
 */

import { afterEach, expect } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { type RateLimits, rateLimitsOf } from '../../src/core/token-buckets.ts'
import { MESSAGE } from '../support/answered-gateway.ts'
import { type FakeUpstream, nativeMessage, type Script, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'
import { asking, throughPort } from '../support/nodes.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { tcpProxyThread } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { makeTestModel } from '../support/world.ts'

let ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

type Two = Readonly<{ a: TestGateway; b: TestGateway; start: () => Promise<TestGateway>; upstream: FakeUpstream; secret: string }>

async function startTwo({ script, ...options }: TestGatewayOptions & Readonly<{ script?: () => Script }> = {}): Promise<Two> {
  const upstream = await startFakeUpstream({ answer: () => script?.() ?? nativeMessage(MESSAGE) })
  ending.push(() => upstream.stop())
  const url = await postgres().createDatabase()
  const start = async (): Promise<TestGateway> => {
    const gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url }, ...options })
    ending.push(() => gateway.stop())
    return gateway
  }
  const a = await start()
  const b = await start()
  return { a, b, start, upstream, secret: await a.createKey() }
}

const BODY = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
const ask = (gateway: TestGateway, secret: string): Promise<Response> => gateway.post('/v1/messages', secret, BODY)

postgresTest(
  'a key has its requests of the minute once, whichever of two gateways is asked, and Retry-After says when there is one more',
  async () => {
    const { a, b, secret } = await startTwo({ limits: { requestsPerMinute: 4 } })
    const answers: Response[] = []
    for (let n = 0; n < 10; n++) answers.push(await ask(n % 2 === 0 ? a : b, secret))
    expect(answers.map(({ status }) => status)).toEqual([...Array(4).fill(200), ...Array(6).fill(429)])
    for (const { headers } of answers.slice(4)) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(15)
    }
  },
)

postgresTest('a key runs its requests at once once over two gateways, and what has ended on one is soon free on the other', async () => {
  const gate = Promise.withResolvers<void>()
  const script = (): Script => [{ when: gate.promise }, ...nativeMessage(MESSAGE)]
  const { a, b, upstream, secret } = await startTwo({ limits: { concurrentRequests: 2 }, script })
  const statuses: number[] = []
  const all = Array.from({ length: 8 }, async (_, n) => void statuses.push((await ask(n % 2 === 0 ? a : b, secret)).status))
  await until(() => statuses.length === 6, 'the others are refused')
  expect(statuses).toEqual(Array(6).fill(429))
  await until(() => upstream.requests.length === 2, 'two run')
  expect((await ask(a, secret)).status).toBe(429)
  expect((await ask(b, secret)).status).toBe(429)
  gate.resolve()
  await Promise.all(all)
  expect(statuses.filter((status) => status === 200)).toHaveLength(2)
  for (const gateway of [a, b])
    await until(async () => {
      const both = await Promise.all([ask(gateway, secret), ask(gateway, secret)])
      return both.every(({ status }) => status === 200)
    }, 'each can have both')
})

postgresTest(
  'an account has the rates of its plan once over three gateways: to the request, to the token that an end corrects, and at once',
  async () => {
    const { a, b, start, secret } = await startTwo()
    const c = await start()
    const plan = (rates: RateLimits) => ({ name: 'default', models: ['*'], rates })
    const rated = (rates: Partial<RateLimits>): void => {
      const limits = rateLimitsOf(rates)
      if (limits === undefined) throw new Error('no rates')
      for (const { reload, world } of [a, b, c])
        reload({ catalog: { ...world.catalog(), plans: new Map([...world.catalog().plans, ['default', plan(limits)]]) } })
    }
    const gateways = [a, b, c]
    const asked = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => ask(gateways[n % 3] ?? a, secret)))
    rated({ requestsPerMinute: 5 })
    const statuses = (await asked(45)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    // Each answer took five tokens of output: what the end of one says, the others hear.
    rated({ outputTokensPerMinute: 10 })
    await until(async () => (await asked(3)).every(({ status }) => status === 429), 'all hear that the output is used up')
    const [refused] = await asked(1)
    expect(refused?.headers.get('anthropic-ratelimit-output-tokens-remaining')).toBe('0')
  },
)

postgresTest('an answer is remembered by the node that gave it; another one asks for the full input', async () => {
  const { a, b, upstream, secret } = await startTwo()
  const first = await a.post('/v1/responses', secret, { model: MODEL_ID, input: 'Hi' })
  expect(first.status).toBe(200)
  const { id } = (await first.json()) as { id: string }
  const next = { model: MODEL_ID, input: 'And?', previous_response_id: id }
  const elsewhere = await b.post('/v1/responses', secret, next)
  expect([elsewhere.status, await elsewhere.json()]).toMatchObject([
    400,
    { error: { message: 'previous_response_id: not found; send the full input (store: false)', type: 'invalid_request_error' } },
  ])
  expect(upstream.requests).toHaveLength(1)
  expect((await a.post('/v1/responses', secret, next)).status).toBe(200)
})

postgresTest(
  'a node that Postgres does not hear of is alive, not ready, and refuses; then it is ready again',
  async () => {
    const url = await postgres().createDatabase()
    const crossing = await tcpProxyThread(postgres().port)
    ending.push(() => crossing.close())
    const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
    ending.push(() => upstream.stop())
    const gateway = await startTestGateway({
      upstreams: [upstream.url],
      postgres: { url: throughPort(url, crossing.port), leaseMs: 4_000 },
    })
    ending.push(() => gateway.stop())
    const secret = await gateway.createKey()
    expect((await ask(gateway, secret)).status).toBe(200)
    const probe = async (at: string): Promise<readonly [number, unknown]> => {
      const answer = await fetch(at)
      return [answer.status, await answer.json()]
    }
    const ready = () => Promise.all([gateway.url, gateway.operatorUrl].map((at) => probe(`${at}/readyz`)))
    await until(async () => (await ready()).every(([status]) => status === 200), 'it is ready')
    crossing.part()
    const isHeardOf = async (): Promise<boolean> => (await ready()).some(([status]) => status === 200)
    await until(async () => !(await isHeardOf()), 'it is not heard of')
    const notHeardOf = [503, { status: 'node is not heard of by Postgres' }]
    expect(await ready()).toEqual([notHeardOf, notHeardOf] as never)
    expect(await probe(`${gateway.url}/livez`)).toEqual([200, { status: 'ok' }])
    expect((await ask(gateway, secret)).status).toBe(503)
    expect(upstream.requests).toHaveLength(1)
    crossing.heal()
    await until(isHeardOf, 'it is ready again')
    await until(async () => (await ask(gateway, secret)).status === 200, 'it answers')
  },
  180_000,
)

postgresTest(
  'nodes with other prices say so at /readyz and in their metrics, and each request keeps the price of its own node',
  async () => {
    const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
    ending.push(() => upstream.stop())
    const url = await postgres().createDatabase()
    const rates = makeTestModel({}).rates
    const start = async (input: bigint): Promise<TestGateway> => {
      const models = [{ rates: { ...rates, input: picos(input) } }]
      const gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url, leaseMs: 2_000 }, models })
      ending.push(() => gateway.stop())
      return gateway
    }
    const [cheap, dear] = [await start(1_000_000n), await start(7_000_000n)]
    const secret = await cheap.createKey()
    for (const gateway of [cheap, dear, cheap, dear]) expect((await ask(gateway, secret)).status).toBe(200)
    const outside = asking(url)
    const receipts = await outside.ask<{ lane: bigint; rate: bigint; isExact: boolean }>(
      `SELECT lane, input_rate_picos AS rate, cost_picos = input_tokens * input_rate_picos + output_tokens * output_rate_picos
       + cache_read_tokens * cache_read_rate_picos + cache_write_5m_tokens * cache_write_5m_rate_picos AS "isExact"
     FROM receipts JOIN price_versions ON price_versions.number = price_number ORDER BY lane`,
    )
    await outside.close()
    const of = (lane: bigint, rate: bigint) => ({ lane, rate, isExact: true })
    expect(receipts).toEqual([of(0n, 1_000_000n), of(0n, 1_000_000n), of(1n, 7_000_000n), of(1n, 7_000_000n)])
    for (const { url: address, operatorUrl } of [cheap, dear]) {
      const ready = async (): Promise<unknown> => (await fetch(`${address}/readyz`)).json()
      await until(async () => Bun.deepEquals(await ready(), { status: 'ok', differs: ['prices'] }), 'it says that prices differ')
      expect(await (await fetch(`${operatorUrl}/metrics`)).text()).toContain('\ntollgate_nodes_differ{what="prices"} 2\n')
    }
  },
)
