/** What an answer in one piece says of its money: the cost that was booked, and the balance after it. Rules: requests.md "Cost of an answer". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { toExactUsdText } from '../../src/core/money.ts'
import { type AnsweredGateway, startAnsweredGateway } from '../support/answered-gateway.ts'
import { nativeMessage } from '../support/fake-upstream.ts'
import { MODEL_ID } from '../support/gateway.ts'

const ROUTES = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const
const bodyOf = (path: (typeof ROUTES)[number], more: object = {}) =>
  path === '/v1/responses'
    ? { model: MODEL_ID, max_output_tokens: 16, input: 'Hi', ...more }
    : { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }], ...more }

let stage: AnsweredGateway

beforeAll(async () => {
  stage = await startAnsweredGateway()
})
afterAll(() => stage.stop())

const ask = (path: (typeof ROUTES)[number], secret: string, more?: object): Promise<Response> =>
  stage.gateway.post(path, secret, bodyOf(path, more))

test('an answer in one piece names its receipt’s cost and the balance after it, to the last digit, in every format', async () => {
  const { gateway } = stage
  const secret = await gateway.createKey({ id: 'key_whole', balanceUsd: '1.0000000001' })
  let spent = 0n
  for (const path of ROUTES) {
    const answer = await ask(path, secret)
    expect(answer.status).toBe(200)
    const receipt = gateway.receipts().find(({ requestId }) => requestId === answer.headers.get('x-request-id'))
    // 10 × 3 + 5 × 15 USD per million.
    expect(receipt?.costPicos as bigint | undefined).toBe(105_000_000n)
    spent += 105_000_000n
    expect(answer.headers.get('x-cost-usd')).toBe('0.000105')
    expect(answer.headers.get('x-balance-usd')).toBe(toExactUsdText((1_000_000_000_100n - spent) as never))
  }
  const balance = await (await fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${secret}` } })).json()
  expect(balance).toMatchObject({ balance_usd: 0.999685 })
})

test('of a key with a limit it is what the limit leaves, and below zero it says so', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_limited', limitUsd: '0.0001' })
  const answer = await ask('/v1/messages', secret)
  expect(answer.headers.get('x-balance-usd')).toBe('-0.000005')
})

test('refusals and streams carry neither', async () => {
  const secret = await stage.gateway.createKey({ id: 'key_empty', balanceUsd: '0.0000001' })
  const streamed = await ask('/v1/chat/completions', secret, { stream: true })
  await streamed.text()
  await stage.gateway.idle()
  const refused = await ask('/v1/chat/completions', secret)
  expect([streamed.status, refused.status]).toEqual([200, 429])
  for (const answer of [streamed, refused])
    for (const name of ['x-cost-usd', 'x-balance-usd']) expect([name, answer.headers.get(name)]).toEqual([name, null])
})

test('a failed answer names no cost', async () => {
  const broken = await startAnsweredGateway({ script: () => nativeMessage({ nothing: true }) })
  try {
    const answer = await broken.gateway.post('/v1/messages', broken.secret, bodyOf('/v1/messages'))
    expect(answer.status).toBe(502)
    expect(answer.headers.get('x-cost-usd')).toBeNull()
  } finally {
    await broken.stop()
  }
})
