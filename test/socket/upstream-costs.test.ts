/** What each call cost at its upstream is on record, also of calls that failed and of requests that moved, and nothing that a customer reads says it. Rules: money.md "What a call costs us". */

import { afterAll, expect, test } from 'bun:test'
import { picos, toExactUsdText, toUsdText } from '../../src/core/money.ts'
import { costOf, type Prices, type Rates } from '../../src/core/pricing.ts'
import { type UpstreamCost, upstreamCostOf, WHOLE_FACTOR } from '../../src/core/upstream-cost.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { errorAnswer, nativeMessage, nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { makeTestModel } from '../support/world.ts'

const { rates } = makeTestModel()
/** Figures that appear nowhere else. */
const FACTOR = 1_234_599
const OWN: Rates = { ...rates, input: picos(7_777_777n), output: picos(8_888_889n) }
const LONG: Rates = { ...OWN, input: picos(9_999_991n) }
const OWN_PRICES: Prices = { rates: OWN, levels: [{ abovePromptTokens: 1_000, rates: LONG }] }
const COSTS = new Map<string, UpstreamCost>([
  ['upstream-0', { prices: { rates, levels: [] }, factorMillionths: FACTOR }],
  ['upstream-1', { prices: OWN_PRICES, factorMillionths: WHOLE_FACTOR }],
])

let first = (): Script => nativeMessage({})
const failing = await startFakeUpstream({ answer: () => first() })
let second = (): Script => nativeMessage({})
const other = await startFakeUpstream({ answer: () => second() })
const gateway = await startTestGateway({
  upstreams: [failing.url, other.url],
  upstreamEach: [{ priority: 0 }, { priority: 1 }],
  models: [{ costs: COSTS }],
})
const secret = await gateway.createKey({ balanceUsd: '5' })
afterAll(async () => {
  await gateway.stop()
  await failing.stop()
  await other.stop()
})

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: 'end_turn', stop_sequence: null }
const answered = (usage: object) => () => nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'Hi' }], usage })
const body = (stream = false) => ({ model: MODEL_ID, max_tokens: 16, stream, messages: [{ role: 'user', content: 'Hi' }] })
const receiptOf = (response: Response) => gateway.receipts().find(({ requestId }) => requestId === response.headers.get('x-request-id'))

test('of the upstream that answered, by its own level, while the price is the model’s', async () => {
  first = () => errorAnswer(529, { type: 'error', error: { type: 'overloaded_error', message: 'later' } })
  for (const input of [1_000, 1_001]) {
    second = answered({ input_tokens: input, output_tokens: 5 })
    const response = await gateway.post('/v1/messages', secret, body())
    await response.text()
    const usage = { ...NO_USAGE, input, output: 5 }
    expect<bigint | null | undefined>(receiptOf(response)?.upstreamCostPicos).toBe(costOf(usage, input > 1_000 ? LONG : OWN))
    expect(receiptOf(response)?.costPicos).toBe(costOf(usage, rates))
    await gateway.idle()
  }
  expect(gateway.verify()).toEqual([])
})

test('of a stream whose upstream broke: the customer pays nothing, and the cost stays', async () => {
  first = () => nativeStream(...textFrames('Good morning', { input_tokens: 100, output_tokens: 5 }).slice(0, 3))
  const upstreams = [failing.url]
  await using alone = await startTestGateway({ upstreams, models: [{ costs: COSTS }] })
  const own = await alone.createKey({ balanceUsd: '5' })
  const response = await alone.post('/v1/messages', own, body(true))
  await response.text()
  await alone.idle()
  const [receipt] = alone.receipts()
  expect([receipt?.outcome, receipt?.costPicos]).toEqual(['fault', picos(0n)])
  expect<bigint | null | undefined>(receipt?.upstreamCostPicos).toBe(upstreamCostOf(picos(receipt?.waivedPicos ?? 0n), FACTOR))
  expect(receipt?.upstreamCostPicos).toBeGreaterThan(0n)
  expect(alone.verify()).toEqual([])
})

test('nothing that a key can read says what its requests cost us', async () => {
  first = answered({ input_tokens: 321, output_tokens: 45 })
  const response = await gateway.post('/v1/messages', secret, body())
  const told = [await response.text(), JSON.stringify([...response.headers])]
  const receipt = receiptOf(response)
  const cost = receipt?.upstreamCostPicos ?? picos(0n)
  expect(cost).toBeGreaterThan(0n)
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as { paths: Record<string, { get?: unknown }> }
  const read = Object.keys(paths).filter((path) => paths[path]?.get !== undefined)
  expect(read.length).toBeGreaterThan(8)
  for (const path of [...read, '/openapi.json', '/llms.txt', '/docs/billing', '/docs/models.md', '/v1/models?limit=100']) {
    const asked = path
      .replace('{request_id}', receipt?.requestId ?? '')
      .replace('{model}', MODEL_ID)
      .replace('{model_id}', MODEL_ID)
    const answer = await fetch(`${gateway.url}${asked}`, { headers: { authorization: `Bearer ${secret}` } })
    told.push(`${asked} ${answer.status} ${await answer.text()} ${JSON.stringify([...answer.headers])}`)
  }
  expect(told.filter((text) => text.includes(toExactUsdText(receipt?.costPicos ?? cost))).length).toBeGreaterThan(1)
  const secrets = [toExactUsdText(cost), toUsdText(cost), `${cost}`, '1234599', '1.234599', '7.777777', 'upstream-0', 'upstream-1']
  const names = ['upstream_cost', 'upstreamCost', 'cache_lost', 'cacheLost']
  for (const text of told) for (const word of [...secrets, ...names]) expect(text.includes(word) ? `${word} in ${text}` : '').toBe('')
})
