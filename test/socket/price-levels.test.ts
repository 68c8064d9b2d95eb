/** A request with a long prompt costs what the level of its prompt says, whole, streamed or left, and its customer reads which level that was. Rules: money.md "Price levels". */

import { afterAll, expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { costOf, type Rates } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { nativeMessage, nativeStream, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { FORMATS } from '../support/stage.ts'
import { makeTestModel } from '../support/world.ts'

const { rates } = makeTestModel()
const FIVE_TIMES = Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, picos(rate * 5n)])) as Rates
const LEVELS = [{ abovePromptTokens: 1_000, rates: FIVE_TIMES }]

let answer = () => nativeMessage({})
const upstream = await startFakeUpstream({ answer: () => answer() })
const gateway = await startTestGateway({ upstreams: [upstream.url], models: [{ levels: LEVELS }] })
const secret = await gateway.createKey({ balanceUsd: '5' })
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

type Told = {
  cost_usd_exact: string
  price_level: { above_prompt_tokens: number; prompt_tokens: number } | null
  lines: { rate_usd_exact: string }[]
}
async function receiptOf(response: Response): Promise<Told> {
  const id = response.headers.get('x-request-id')
  const told = await fetch(`${gateway.url}/v1/dashboard/usage/requests/${id}`, { headers: { authorization: `Bearer ${secret}` } })
  return (await told.json()) as Told
}

const AT = { input_tokens: 400, cache_read_input_tokens: 500, cache_creation_input_tokens: 100, output_tokens: 5 }
const usageOf = (input: number, output: number) => ({ ...NO_USAGE, input, cacheRead: 500, cacheWrite5m: 100, output })
const exact = (amount: bigint): string => (Number(amount) / 1e12).toString()

const body = (format: (typeof FORMATS)[number], stream: boolean) =>
  format === 'responses'
    ? { model: MODEL_ID, input: 'Hi', stream, max_output_tokens: 16 }
    : { model: MODEL_ID, max_tokens: 16, stream, messages: [{ role: 'user', content: 'Hi' }] }
const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' }

for (const format of FORMATS)
  for (const stream of [false, true])
    test(`${format}, ${stream ? 'a stream' : 'one piece'}: the token above the level makes the whole request as dear as the level`, async () => {
      for (const more of [0, 1]) {
        const usage = { ...AT, input_tokens: AT.input_tokens + more }
        answer = () =>
          stream
            ? nativeStream(...textFrames('Good morning', usage))
            : nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'Good morning' }], usage })
        const response = await gateway.post(PATHS[format], secret, body(format, stream))
        expect(response.status).toBe(200)
        await response.text()
        const told = await receiptOf(response)
        const atLevel = more === 1
        expect(told.price_level).toEqual(atLevel ? { above_prompt_tokens: 1_000, prompt_tokens: 1_001 } : null)
        expect(told.cost_usd_exact).toBe(exact(costOf(usageOf(usage.input_tokens, 5), atLevel ? FIVE_TIMES : rates)))
        if (!stream) expect(response.headers.get('x-cost-usd')).toBe(told.cost_usd_exact)
      }
      expect(gateway.verify()).toEqual([])
    })

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: 'end_turn', stop_sequence: null }

test('the cost that an answer tells is that of its level', async () => {
  const usage = { ...AT, input_tokens: 401 }
  answer = () => nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'Hi' }], usage })
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': secret, 'x-include-cost': 'true' },
    body: JSON.stringify(body('messages', false)),
  })
  expect(await response.json()).toMatchObject({ usage: { cost_usd_exact: exact(costOf(usageOf(401, 5), FIVE_TIMES)) } })
})

test('the longest pass decides where the upstream tells its passes, and all of them are charged', async () => {
  const pass = (input_tokens: number) => ({
    type: 'message',
    input_tokens,
    output_tokens: 4,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  })
  for (const [passes, level] of [
    [[900, 900], null],
    [[900, 1_001], { above_prompt_tokens: 1_000, prompt_tokens: 1_901 }],
  ] as const) {
    const input_tokens = passes[0] + passes[1]
    answer = () =>
      nativeMessage({
        ...MESSAGE,
        content: [{ type: 'text', text: 'Hi' }],
        usage: { input_tokens, output_tokens: 8, iterations: passes.map(pass) },
      })
    const response = await gateway.post('/v1/messages', secret, body('messages', false))
    await response.text()
    const told = await receiptOf(response)
    expect(told.price_level).toEqual(level)
    expect(told.cost_usd_exact).toBe(exact(costOf({ ...NO_USAGE, input: input_tokens, output: 8 }, level === null ? rates : FIVE_TIMES)))
  }
})

test('the list of models has the prices of long prompts, and what is held is that of the dearest level in reach', async () => {
  const listed = await (await fetch(`${gateway.url}/v1/models/${MODEL_ID}`, { headers: { 'x-api-key': secret } })).json()
  expect(listed).toMatchObject({
    pricing: {
      input: 3,
      output: 15,
      levels: [{ above_prompt_tokens: 1_000, input: 15, output: 75, cache_read: 1.5, cache_write: 18.75, cache_write_1h: 30 }],
    },
  })
  answer = () => nativeMessage({ ...MESSAGE, content: [], usage: { input_tokens: 1, output_tokens: 1 } })
  for (const length of [100, 2_000]) {
    const asked = { ...body('messages', false), system: 'x'.repeat(length) }
    await (await gateway.post('/v1/messages', secret, asked)).text()
    await gateway.idle()
    const bytes = BigInt(JSON.stringify({ ...asked, model: 'vendor-sonnet-1' }).length)
    const { input, output } = length > 1_000 ? FIVE_TIMES : rates
    expect(gateway.receipts().at(-1)?.holdPicos).toBe(picos(bytes * input + 16n * output))
  }
})
