/**
 * The requests of an account on its page: newest first without a gap, filtered, one with the sum of its counts times their rates, and no provider's name anywhere.
 * Rules: pages.md "Requests of an account"; requests.md "Usage".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { parseUsd, toExactUsdText } from '../../../src/core/money.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { KEYS, MODELS, makeHistory, sumText } from '../../support/history.ts'
import type { Browser } from '../../support/people.ts'
import { randomFrom, SEED } from '../../support/seed.ts'
import { fileOf, signIn } from '../../support/signed-in.ts'

type Row = {
  request_id: string
  settled_at: string
  key_id: string
  model: string
  outcome: string
  cost_usd_exact: string
  waived_usd_exact: string
}
type Page = { data: Row[]; next_cursor: string | null }

const NORTH = '/api/accounts/acc_north/requests'
let gateway: TestGateway
let rob: Browser
let eve: Browser
beforeAll(async () => {
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 300)
  rob = await signIn(gateway, 'rob@example.com', 'acc_north', 'reader')
  eve = await signIn(gateway, 'eve@example.com', 'acc_south', 'owner')
}, 180_000)
afterAll(() => gateway.stop())

async function walk(query: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let after = ''; ; ) {
    const { status, body } = await rob.get(`${NORTH}?limit=17${query}${after}`)
    expect([query, status]).toEqual([query, 200])
    const { data, next_cursor } = body as unknown as Page
    rows.push(...data)
    if (next_cursor === null) return rows
    after = `&after=${next_cursor}`
  }
}

test('pages lead from the newest to the oldest without a gap, under every filter, and the file has the same', async () => {
  const receipts = gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  for (const [query, isOf] of [
    ['', () => true],
    [`&key=${KEYS[1]}`, ({ keyId }) => keyId === KEYS[1]],
    [`&model=${MODELS[0]}`, ({ modelId }) => modelId === MODELS[0]],
    ['&outcome=fault', ({ outcome }) => outcome === 'fault'],
    [`&from=${day}&to=${day}`, ({ settledAt }) => new Date(settledAt).toISOString().startsWith(day)],
    [`&key=${KEYS[0]}&outcome=leaver`, ({ keyId, outcome }) => keyId === KEYS[0] && outcome === 'leaver'],
    [`&key=${KEYS[0]},${KEYS[2]}&model=${MODELS.join()}`, ({ keyId }) => keyId !== KEYS[1]],
    ['&outcome=leaver,fault,leaver&format=messages', ({ outcome }) => outcome === 'leaver' || outcome === 'fault'],
    ['&format=chat,responses', () => false],
  ] as readonly (readonly [string, (receipt: (typeof receipts)[number]) => boolean])[]) {
    const rows = await walk(query)
    const expected = receipts.filter(isOf)
    expect([query, SEED, rows.map(({ request_id }) => request_id).toSorted()]).toEqual([
      query,
      SEED,
      expected.map(({ requestId }) => requestId).toSorted(),
    ])
    expect(rows.map(({ settled_at }) => settled_at)).toEqual(
      rows
        .map(({ settled_at }) => settled_at)
        .toSorted()
        .toReversed(),
    )
    const file = (await (await fileOf(rob, `acc_north/requests.csv?${query.slice(1)}`)).text()).trim().split('\r\n').slice(1)
    expect(file.map((line) => line.split(',')[0])).toEqual(rows.map(({ request_id }) => request_id))
  }
})

test('one request is its counts times their rates, to the last picodollar, and names no provider', async () => {
  for (const { requestId, costPicos, waivedPicos, attempts } of gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')) {
    const { status, body } = await rob.get(`${NORTH}/${requestId}`)
    expect([requestId, status]).toEqual([requestId, 200])
    const one = body as unknown as Row & {
      lines: { count: number; rate_usd_exact: string; price_usd_exact: string }[]
      calls: Record<string, unknown>[]
      explanation: string | null
    }
    for (const { count, rate_usd_exact, price_usd_exact } of one.lines)
      expect(parseUsd(price_usd_exact)).toBe(((parseUsd(rate_usd_exact) ?? 0n) * BigInt(count)) as ReturnType<typeof parseUsd>)
    expect(sumText(one.lines.map(({ price_usd_exact }) => price_usd_exact))).toBe(toExactUsdText(costPicos > 0n ? costPicos : waivedPicos))
    expect(sumText([one.cost_usd_exact, one.waived_usd_exact])).toBe(toExactUsdText(costPicos > 0n ? costPicos : waivedPicos))
    expect(one.explanation === null).toBe(costPicos > 0n)
    expect(one.calls.length).toBe(attempts - 1)
    for (const call of one.calls) expect(call).toMatchObject({ number: 1, status: 529, cause: 'overloaded', duration_ms: 30 })
    expect(JSON.stringify(body)).not.toMatch(/vendor|upstream-|boot/)
  }
})

test('an order of a figure has as many rows as were asked for, of the keys that were chosen and of no other account', async () => {
  const asked = async (query: string) => (await rob.get(`${NORTH}?order=-cost&${query}`)).body as unknown as Page
  const costs = ({ data }: Page) => data.map(({ cost_usd_exact }) => parseUsd(cost_usd_exact) ?? 0n)
  const first = await asked(`limit=3&key=${KEYS[0]},${KEYS[2]}`)
  expect(first.data.map(({ key_id }) => key_id).filter((id) => id === KEYS[1])).toEqual([])
  const next = await asked(`limit=7&key=${KEYS[0]},${KEYS[2]}&after=${first.next_cursor}`)
  expect([first.data.length, next.data.length]).toEqual([3, 7])
  const of = gateway.receipts().filter(({ keyId }) => keyId === KEYS[0] || keyId === KEYS[2])
  const dearest = of.map(({ costPicos }) => costPicos as bigint).toSorted((a, b) => Number(b - a))
  expect([...costs(first), ...costs(next)] as bigint[]).toEqual(dearest.slice(0, 10))
})

test('a request of others is not there, nor a place in their list', async () => {
  const foreign = gateway.receipts().find(({ accountId }) => accountId === 'acc_south')?.requestId ?? ''
  const own = gateway.receipts().find(({ accountId }) => accountId === 'acc_north')?.requestId ?? ''
  expect((await eve.get(`/api/accounts/acc_south/requests/${foreign}`)).status).toBe(200)
  const missing = await rob.get(`${NORTH}/req_nowhere`)
  expect([missing.status, missing.body]).toEqual([404, (await rob.get(`${NORTH}/${foreign}`)).body])
  expect((await eve.get(`/api/accounts/acc_south/requests/${own}`)).status).toBe(404)
  expect((await rob.get(`${NORTH}?after=${foreign}`)).status).toBe(404)
  for (const order of ['', '&order=-cost'])
    for (const keys of ['key_south', `${KEYS[0]},key_south`, 'key_none'])
      expect([order, keys, (await rob.get(`${NORTH}?key=${keys}${order}`)).status]).toEqual([order, keys, 404])
  expect((await rob.get(`${NORTH}?key=${KEYS[0]},${KEYS[0]}&order=-cost`)).status).toBe(200)
})

test('what is wrong with a question is told with its field', async () => {
  for (const [query, field] of [
    ['from=soon', 'from'],
    ['to=2026-11-31', 'to'],
    ['from=2026-11-02&to=2026-11-01', 'from'],
    ['outcome=lost', 'outcome'],
    ['outcome=complete,lost', 'outcome'],
    ['format=smtp', 'format'],
    [`model=${Array.from({ length: 51 }, (_, index) => `m${index}`).join()}`, 'model'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=many', 'limit'],
  ]) {
    const { status, body } = await rob.get(`${NORTH}?${query}`)
    expect([query, status, (body['error'] as { field?: string }).field]).toEqual([query ?? '', 400, field])
  }
})
