/**
 * Sums over the operator's API: receipts say what they cost at their upstream and are found by their tag, use by tag is that of the accounts that a token sees, and the margin
 * is exact and of tokens alone that see all accounts. Rules: operator-api.md "Scopes", "Lists"; money.md "Margin".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { UpstreamCost } from '../../../src/core/upstream-cost.ts'
import { dayAt, dayText } from '../../../src/core/utc.ts'
import { type ApiClient, apiClient } from '../../support/api-client.ts'
import { type FakeUpstream, nativeStream, startFakeUpstream, textFrames } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { withTags } from '../../support/many-tags.ts'
import { roomIn } from '../../support/until.ts'
import { makeTestModel } from '../../support/world.ts'

type Row = Record<string, unknown> & { tag: string | null; requests: number }
type Sums = { data: Row[]; total: Row; others: null }

const { rates } = makeTestModel()
const COSTS = new Map<string, UpstreamCost>([['upstream-0', { prices: { rates, levels: [] }, factorMillionths: 333_333 }]])

let upstream: FakeUpstream
let gateway: TestGateway
let all: ApiClient
let bound: ApiClient
const keys: Record<'north' | 'south', Record<string, unknown>> = { north: {}, south: {} }

beforeAll(async () => {
  await roomIn(86_400_000, 60_000)
  upstream = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Hello there')) })
  gateway = await startTestGateway({ upstreams: [upstream.url], models: [{ costs: COSTS }] })
  all = await apiClient(gateway, { scope: 'read' })
  const maker = await apiClient(gateway)
  for (const [name, tags] of [
    ['north', ['team:a', 'team:a', null]],
    ['south', ['team:b']],
  ] as const) {
    keys[name] = (await maker.post('/keys', { name, balance_usd: '10' })).body
    for (const tag of tags) {
      const body = { model: MODEL_ID, max_tokens: 16, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
      const secret = String(keys[name]['secret'])
      const headers = {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        ...(tag === null ? {} : { 'x-spend-tag': tag }),
      }
      await (await gateway.post('/v1/messages', secret, body, { headers })).text()
    }
  }
  await gateway.idle()
  bound = await apiClient(gateway, { scope: 'read', accountIds: [String(keys.north['account_id'])] })
})
afterAll(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
  await upstream.stop()
})

async function sums(client: ApiClient, path: string): Promise<Sums> {
  const { status, body } = await client.get(path)
  expect([path, status, body]).toEqual([path, 200, body])
  return body as Sums
}
const statusOf = async (client: ApiClient, path: string): Promise<number> => (await client.get(path)).status
const inPicos = (text: unknown): bigint => {
  const [whole = '', fraction = ''] = String(text).split('.')
  return BigInt(`${whole}${fraction.padEnd(12, '0')}`)
}
const total = (of: 'costPicos' | 'upstreamCostPicos'): bigint => gateway.receipts().reduce((sum, row) => sum + (row[of] ?? 0n), 0n)

test('receipts say their tag and what they cost at their upstream, and a tag finds its own', async () => {
  const { data } = await sums(all, '/receipts?tag=team:a')
  expect(data.map(({ tag }) => tag)).toEqual(['team:a', 'team:a'])
  expect((await sums(bound, '/receipts?tag=team:b')).data).toEqual([])
  expect(await statusOf(all, '/receipts?tag=team%20a')).toBe(400)
  const every = (await sums(all, '/receipts')).data
  expect(every.map(({ tag }) => tag)).toEqual(['team:b', null, 'team:a', 'team:a'])
  expect(every.reduce((sum, row) => sum + inPicos(row['upstream_cost_usd']), 0n)).toBe(total('upstreamCostPicos'))
  const { request } = (await all.get(`/receipts/${data[0]?.['request_id']}`)).body
  expect(request).toMatchObject({
    tag: 'team:a',
    upstream_cost_usd: data[0]?.['upstream_cost_usd'],
    cache_lost_usd: null,
    price_level: null,
  })
})

test('use by tag is of one account or key, and only of those that the token sees', async () => {
  const { account_id: north, id: northKey } = keys.north
  const ofNorth = await sums(all, `/usage/tags?account_id=${north}`)
  expect(ofNorth.data.map(({ tag, is_shared, requests }) => [tag, is_shared, requests])).toEqual([
    ['team:a', false, 2],
    [null, false, 1],
  ])
  expect(ofNorth.total).toMatchObject({ requests: 3 })
  expect(ofNorth.data.reduce((sum, row) => sum + inPicos(row['cost_usd']), 0n)).toBe(inPicos(ofNorth.total['cost_usd']))
  expect(await sums(bound, '/usage/tags')).toEqual(ofNorth)
  expect((await sums(bound, `/usage/tags?key_id=${northKey}`)).data).toEqual(ofNorth.data)
  expect((await sums(bound, '/usage/tags?to=2026-01-01')).data).toEqual([])
  for (const [client, query, status] of [
    [all, '', 400],
    [all, `?account_id=${north}&key_id=${northKey}`, 400],
    [all, `?account_id=${north}&from=2026-02-30`, 400],
    [all, `?account_id=${north}&from=2020-01-01`, 400],
    [bound, `?account_id=${keys.south['account_id']}`, 404],
    [bound, `?key_id=${keys.south['id']}`, 404],
  ] as const)
    expect([query, await statusOf(client, `/usage/tags${query}`)]).toEqual([query, status])
})

test('the margin by each thing has the sums of all receipts, and no token that is bound to accounts sees it', async () => {
  const [charged, cost] = [total('costPicos'), total('upstreamCostPicos')]
  expect(cost).toBeGreaterThan(0n)
  for (const [by, ids] of [
    ['day', [dayText(dayAt(Date.now()))]],
    ['account', [keys.north['account_id'], keys.south['account_id']]],
    ['model', [MODEL_ID]],
    ['upstream', ['upstream-0']],
  ] as const) {
    const found = await sums(all, `/margin?by=${by}`)
    expect(found.data.map(({ id }) => id)).toEqual([...ids])
    expect([found.total.requests, found.others]).toEqual([4, null])
    expect(['charged_usd', 'upstream_cost_usd', 'margin_usd'].map((name) => inPicos(found.total[name]))).toEqual([
      charged,
      cost,
      charged - cost,
    ])
  }
  expect((await sums(all, `/margin?account_id=${keys.south['account_id']}`)).total.requests).toBe(1)
  expect((await sums(all, '/margin?to=2026-01-01')).total.requests).toBe(0)
  expect(await sums(all, '/margin')).toMatchObject({ without_cost: [] })
  expect(await statusOf(bound, '/margin')).toBe(403)
  expect(await statusOf(all, '/margin?by=tag')).toBe(400)
  expect(await statusOf(all, '/margin?from=2026-02-01&to=2026-01-01')).toBe(400)
})

test('use by what is asked is of the accounts that a token sees, and says what it cost to tokens of all accounts alone', async () => {
  type Explored = {
    data: { things: { id: string }[]; cost_usd: string }[]
    total: { requests: number; cost_usd: string; upstream_cost_usd?: string }
  }
  const explored = async (client: ApiClient, query: string): Promise<Explored> =>
    (await sums(client, `/usage/explore?${query}`)) as unknown as Explored
  const whole = await explored(all, 'by=account,tag&step=month')
  expect([inPicos(whole.total.cost_usd), inPicos(whole.total.upstream_cost_usd)]).toEqual([total('costPicos'), total('upstreamCostPicos')])
  expect(whole.data).toHaveLength(3)
  const own = await explored(bound, 'by=account,tag')
  expect([own.total.requests, own.total.upstream_cost_usd]).toEqual([3, undefined])
  expect(new Set(own.data.map(({ things }) => things[0]?.id))).toEqual(new Set([String(keys.north['account_id'])]))
  expect(await statusOf(bound, `/usage/explore?account=${String(keys.south['account_id'])}`)).toBe(404)
  for (const path of ['/usage/explore?key=', '/usage?key_id=', '/usage/tags?key_id=', '/receipts?key_id=', '/holds?key_id=']) {
    expect([path, await statusOf(bound, `${path}${String(keys.south['id'])}`)]).toEqual([path, 404])
    expect([path, await statusOf(all, `${path}key_none`)]).toEqual([path, 404])
    expect([path, await statusOf(all, `${path}${String(keys.south['id'])}`)]).toEqual([path, 200])
  }
  expect(await statusOf(bound, `/usage/explore?key=${String(keys.north['id'])},${String(keys.south['id'])}`)).toBe(404)
  for (const foreign of ['by=upstream', 'upstream=upstream-0', 'by=price', 'step=minute'])
    expect([foreign, await statusOf(bound, `/usage/explore?${foreign}`)]).toEqual([foreign, 400])
})

test('a token of some accounts gets 5,000 rows at most, as their customers do, and one of all accounts more', async () => {
  await withTags(gateway.ledgerPath, String(keys.north['id']), 5_001, async () => {
    const { status, body } = await bound.get('/usage/explore?by=tag')
    expect([status, body['error']]).toMatchObject([400, { message: expect.stringContaining('5,000 rows') }])
    expect(await statusOf(all, '/usage/explore?by=tag')).toBe(200)
  })
})
