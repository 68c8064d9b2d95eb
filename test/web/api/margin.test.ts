/** What was charged and what it cost us, by each of its groupings and as a file: of operators alone, exact to the picodollar, and the same sums everywhere. Rules: pages.md "Margin"; money.md "Margin". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { picos } from '../../../src/core/money.ts'
import type { UpstreamCost } from '../../../src/core/upstream-cost.ts'
import { type FakeUpstream, nativeStream, startFakeUpstream, textFrames } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { makeTestModel } from '../../support/world.ts'

const { rates } = makeTestModel()
const COSTS = new Map<string, UpstreamCost>([['upstream-0', { prices: { rates, levels: [] }, factorMillionths: 333_333 }]])

let upstream: FakeUpstream
let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  upstream = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Hello there')) })
  const models = [{ costs: COSTS }, { id: 'free', costs: new Map() }]
  gateway = await startTestGateway({ upstreams: [upstream.url], models })
  operator = await signInOperator(gateway)
  for (const model of [MODEL_ID, MODEL_ID, 'free'])
    await (
      await gateway.post('/v1/messages', await gateway.createKey(), {
        model,
        max_tokens: 16,
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      })
    ).text()
  await gateway.idle()
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

type Sums = { id: string; requests: number; charged_usd: string; upstream_cost_usd: string; margin_usd: string }
type Margin = { data: Sums[]; total: Sums; without_cost: { upstream: string; models: string[] }[] }
async function margin(query = ''): Promise<Margin> {
  const answer = await operator.get(`/console/api/margin${query}`)
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return (await answer.json()) as Margin
}
const inPicos = (text: string): bigint => BigInt(Math.round(Number(text) * 1e12))

test('each grouping has the sums of the receipts whose cost is known, and says whose is not', async () => {
  const known = gateway.receipts().filter(({ upstreamCostPicos }) => upstreamCostPicos !== null)
  expect(known).toHaveLength(2)
  const charged = known.reduce((sum, { costPicos }) => sum + costPicos, 0n)
  const cost = known.reduce((sum, { upstreamCostPicos }) => sum + (upstreamCostPicos ?? 0n), 0n)
  for (const [by, rows] of [
    ['day', 1],
    ['account', 2],
    ['model', 1],
    ['upstream', 1],
  ] as const) {
    const { data, total, without_cost } = await margin(`?by=${by}`)
    expect([data.length, total.requests, without_cost]).toEqual([rows, 2, [{ upstream: 'upstream-0', models: ['free'] }]])
    expect([total.charged_usd, total.upstream_cost_usd, total.margin_usd].map(inPicos)).toEqual([charged, cost, charged - cost])
    expect(data.reduce((sum, row) => sum + inPicos(row.margin_usd), 0n)).toBe(charged - cost)
  }
  expect((await margin('?by=upstream')).data[0]?.id).toBe('upstream-0')
  const one = await margin('?by=account&account_id=acc_1')
  expect(one.data.map(({ id }) => id)).toEqual(['acc_1'])
  expect((await margin('?account_id=acc_none')).data).toEqual([])
  const both = await margin(`?by=account&account_id=acc_1,acc_2,acc_none&model=${MODEL_ID},none&upstream=upstream-0,none`)
  expect(both.data.map(({ id }) => id).toSorted()).toEqual(['acc_1', 'acc_2'])
  for (const query of ['?model=none', '?upstream=none', `?account_id=acc_1&model=none`])
    expect([query, (await margin(query)).data]).toEqual([query, []])
  expect((await margin('?from=2020-01-01&to=2020-01-31')).data).toEqual([])
})

test('the file has a row a day, account, model and upstream', async () => {
  const answer = await operator.get('/console/api/margin.csv')
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="margin-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv"$/)
  const [head, ...lines] = (await answer.text()).trim().split('\r\n')
  expect(head).toContain('date,account_id,account_name,model,upstream,requests,other_calls,charged_usd_exact')
  expect(lines).toHaveLength(2)
  const cost = picos(gateway.receipts().find(({ accountId }) => accountId === 'acc_1')?.upstreamCostPicos ?? 0n)
  const own = lines.find((line) => line.includes('acc_1'))?.split(',') ?? []
  expect(inPicos(own[9] ?? '')).toBe(cost)
})

test.each([
  ['?from=2026-02-31', 'from'],
  ['?from=2026-01-01&to=2025-01-01', 'from'],
  ['?from=2020-01-01&to=2026-01-01', 'from'],
  ['?by=key', 'by'],
  [`?upstream=${Array.from({ length: 51 }, (_, index) => `u${index}`).join()}`, 'upstream'],
])('%s is refused by its field', async (query, field) => {
  const answer = await operator.get(`/console/api/margin${query}`)
  expect([answer.status, ((await answer.json()) as { error: { field: string } }).error.field]).toEqual([400, field])
})
