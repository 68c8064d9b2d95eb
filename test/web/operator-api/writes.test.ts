/**
 * Writes over the operator's API: under an Idempotency-Key one act, however often it is sent and wherever the answer was lost; a secret is shown once; each act has its
 * line with the token's name. Rules: operator-api.md "Writes"; operator.md "Audit".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Plan } from '../../../src/core/catalog.ts'
import { parseUsd, picos, toExactUsdText } from '../../../src/core/money.ts'
import { isoTime } from '../../../src/core/utc.ts'
import { HOUR_MS, hourAt, windowAt } from '../../../src/core/windows.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { type ApiClient, apiClient } from '../../support/api-client.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'

let gateway: TestGateway
let shop: ApiClient
/** Loses the answer to the next write of this kind, whose commit is done. */
let losesAnswerOf: string | undefined

const losing = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'operate') return typeof value === 'function' ? value.bind(target) : value
      return async (...[operation, act]: Parameters<Ledger['operate']>) => {
        const done = await target.operate(operation, act)
        if (operation.kind !== losesAnswerOf) return done
        losesAnswerOf = undefined
        return { result: 'unavailable' }
      }
    },
  })

beforeEach(async () => {
  losesAnswerOf = undefined
  gateway = await startTestGateway({ wrapLedger: losing })
  shop = await apiClient(gateway, { name: 'shop' })
})
afterEach(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})

const rows = (query: string): Record<string, unknown>[] => {
  const db = new Database(gateway.ledgerPath, { readonly: true })
  try {
    return db.query<Record<string, unknown>, []>(query).all()
  } finally {
    db.close()
  }
}
const done = async (answer: ReturnType<ApiClient['post']>): Promise<Record<string, unknown>> => {
  const { status, body } = await answer
  expect([status, body]).toEqual([200, body])
  return body
}

test('a hundred creates at once under one Idempotency-Key make one key, whose secret one answer has', async () => {
  const account = await done(shop.post('/accounts', { name: 'acme', balance_usd: '5' }))
  const create = () => shop.post('/keys', { account_id: account['id'], name: 'one' }, 'order-1')
  const answers = await Promise.all(Array.from({ length: 100 }, create))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
  const withSecret = answers.filter(({ body }) => body['secret'] !== null)
  expect(withSecret.map(({ body }) => body['secret_shown'])).toEqual([false])
  expect(answers.filter(({ body }) => body['secret_shown'] === true)).toHaveLength(99)
  expect(rows('SELECT name FROM keys')).toEqual([{ name: 'one' }])
  expect(rows("SELECT actor FROM audit_log WHERE action = 'createKey'")).toEqual([{ actor: 'token:shop' }])
  const secret = String(withSecret[0]?.body['secret'])
  const served = await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })
  expect(served.status).toBe(200)
  await served.text()
  await gateway.idle()
})

test('an answer that was lost behind its commit: the repetition finds the act, and a rotation brings a secret', async () => {
  losesAnswerOf = 'createKey'
  const lost = await shop.post('/keys', { name: 'k', balance_usd: '3' }, 'order-2')
  expect(lost.status).toBe(503)
  const again = await done(shop.post('/keys', { name: 'k', balance_usd: '3' }, 'order-2'))
  expect(again).toMatchObject({ name: 'k', secret: null, secret_shown: true })
  const rotated = await done(shop.post(`/keys/${again['id']}/rotate`, {}, 'order-2-secret'))
  expect(rotated).toMatchObject({ id: again['id'], secret: expect.stringMatching(/^sk-/), secret_shown: false })
  expect(await done(shop.post(`/keys/${again['id']}/rotate`, {}, 'order-2-secret'))).toMatchObject({ secret: null, secret_shown: true })
  losesAnswerOf = 'credit'
  const topUp = () => shop.post(`/accounts/${again['account_id']}/top-ups`, { amount_usd: '7' }, 'payment-2')
  expect((await topUp()).status).toBe(503)
  expect(await done(topUp())).toMatchObject({ already: true, amount_usd: '7', balance_usd: '10' })
  expect(rows('SELECT count(*) AS count FROM credits')).toEqual([{ count: 2 }])
})

test('under a key that another request used: 400 that names the header; a field more is another request', async () => {
  const { id } = await done(shop.post('/accounts', {}, 'k'))
  for (const [path, body] of [
    ['/accounts', { name: 'x' }],
    [`/accounts/${id}/top-ups`, { amount_usd: '1' }],
    ['/keys', {}],
  ] as const) {
    const { status, body: refused } = await shop.post(path, body, 'k')
    expect([path, status, refused]).toMatchObject([path, 400, { error: { message: 'Idempotency-Key: it was used by another request' } }])
  }
  expect(await done(shop.post('/accounts', {}, 'k'))).toMatchObject({ id })
  const other = await apiClient(gateway)
  expect((await done(other.post('/accounts', {}, 'k')))['id']).not.toBe(id)
})

test('days are added once under a key, and twice without one', async () => {
  const { id, created_at } = await done(shop.post('/keys', { expires_in_days: 10 }))
  const daysOf = ({ expires_at }: Record<string, unknown>) =>
    Math.round((Date.parse(String(expires_at)) - Date.parse(String(created_at))) / 86_400_000)
  const extend = (key?: string) => done(shop.post(`/keys/${id}/extend`, { days: 5 }, key))
  expect(daysOf(await extend('k'))).toBe(15)
  expect(daysOf(await extend('k'))).toBe(15)
  expect(daysOf(await extend())).toBe(20)
})

test('days that reach the last end that a key may have are added once under a key: a repetition is not refused by the bound that it reached', async () => {
  const { id, created_at } = await done(shop.post('/keys', { expires_in_days: 10 }))
  const extend = (days: number, key?: string) => shop.post(`/keys/${id}/extend`, { days }, key)
  const daysOf = ({ expires_at }: Record<string, unknown>) =>
    Math.round((Date.parse(String(expires_at)) - Date.parse(String(created_at))) / 86_400_000)
  const refusal = async (answer: ReturnType<ApiClient['post']>) => {
    const { status, body } = await answer
    return { status, message: (body['error'] as { message: string } | undefined)?.message }
  }
  expect(daysOf(await done(extend(70, 'k')))).toBe(80)
  expect(daysOf(await done(extend(70, 'k')))).toBe(80)
  const tooFar = { status: 400, message: 'days: It can have 10 days more at most' }
  expect(await refusal(extend(70))).toEqual(tooFar)
  expect(await refusal(extend(70, 'l'))).toEqual(tooFar)
  expect(await refusal(extend(71, 'k'))).toEqual({ status: 400, message: 'Idempotency-Key: it was used by another request' })
  expect(daysOf(await done(extend(10, 'l')))).toBe(90)
  expect(rows("SELECT count(*) AS count FROM audit_log WHERE action = 'setKeyExpiry'")).toEqual([{ count: 2 }])
})

test('each act has its line: the token by name, the address, the reason; what is refused has none, and nobody writes another line', async () => {
  const { id } = await done(shop.post('/accounts', { name: 'acme', reason: ' order 7 ' }))
  await done(shop.post(`/accounts/${id}/refunds`, { amount_usd: '1', reason: 'x' }).then(() => shop.get(`/accounts/${id}`)))
  await done(shop.post(`/accounts/${id}/top-ups`, { amount_usd: '2', ref: 'inv-1', reason: 'paid "twice", \\n' }))
  await done(shop.post(`/accounts/${id}/top-ups`, { amount_usd: '2', ref: 'inv-1' }))
  for (const reason of ['a\nb', 'a\u202eb', '\u0000', 'x'.repeat(201)])
    expect((await shop.post(`/accounts/${id}/disable`, { reason })).status).toBe(400)
  const lines = rows("SELECT actor, address, action, target, reason FROM audit_log WHERE action <> 'createToken' ORDER BY id")
  const act = { actor: 'token:shop', address: '127.0.0.1' }
  expect(lines).toEqual([
    { ...act, action: 'createAccount', target: id, reason: 'order 7' },
    { ...act, action: 'credit', target: id, reason: 'paid "twice", \\n' },
  ])
})

test('a balance, its limit and what is held by requests are what the ledger has', async () => {
  const key = await done(shop.post('/keys', { name: 'k', balance_usd: '3', limit_usd: '2.5', expires_in_days: null }))
  expect(key).toMatchObject({ limit_usd: '2.5', spent_usd: '0', state: 'live', expires_at: null, plan: 'default', account_name: 'k' })
  const path = `/keys/${key['id']}`
  expect(await done(shop.post(`${path}/limit`, { limit_usd: null }))).toMatchObject({ limit_usd: null })
  const rated = { requests_per_minute: 60, input_tokens_per_minute: null, output_tokens_per_minute: null, concurrent_requests: 4 }
  expect(await done(shop.post(`${path}/rates`, { requests_per_minute: 60, concurrent_requests: 4 }))).toMatchObject({ rates: rated })
  expect(await done(shop.post(`${path}/rates`, { requests_per_minute: null }))).toMatchObject({
    rates: { ...rated, requests_per_minute: null },
  })
  expect(await done(shop.post(`${path}/rates`, { concurrent_requests: null }))).toMatchObject({ rates: null })
  expect((await shop.post(`${path}/rates`, { concurrent_requests: 1_000_000_000 })).body).toMatchObject({
    error: { message: expect.stringContaining('concurrent_requests: It is at most ') },
  })
  expect(await done(shop.post(`${path}/rename`, { name: 'l' }))).toMatchObject({ name: 'l' })
  expect(await done(shop.post(`${path}/disable`))).toMatchObject({ state: 'disabled', is_active: false })
  expect(await done(shop.post(`${path}/enable`))).toMatchObject({ state: 'live' })
  expect(await done(shop.get(`/accounts/${key['account_id']}`))).toMatchObject({ balance_usd: '3', held_usd: '0', keys: 1 })
  expect(await done(shop.get('/keys?search=l'))).toMatchObject({ data: [{ id: key['id'] }], has_more: false, next_cursor: null })
})

test('a budget for each window and the plan of new keys are set and removed, and a window that is used up refuses the next request', async () => {
  const key = await done(shop.post('/keys', { name: 'k', balance_usd: '3' }))
  const ask = () =>
    gateway.post('/v1/messages', String(key['secret']), { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })
  await done(shop.post(`/keys/${key['id']}/budgets`, { per: 'day', limit_usd: '0' }))
  const refused = await ask()
  expect([refused.status, refused.headers.get('x-budget-window')]).toEqual([429, 'day'])
  await done(shop.post(`/keys/${key['id']}/budgets`, { per: 'day', limit_usd: null }))
  await done(shop.post(`/accounts/${key['account_id']}/budgets`, { per: 'hour', limit_usd: '0' }))
  expect((await ask()).status).toBe(429)
  await done(shop.post(`/accounts/${key['account_id']}/budgets`, { per: 'hour', limit_usd: null }))
  const answered = await ask()
  expect(answered.status).toBe(200)
  await answered.text()
  await gateway.idle()
  await done(shop.post(`/accounts/${key['account_id']}/plan`, { plan: 'small' }))
  expect((await shop.post(`/accounts/${key['account_id']}/plan`, { plan: 'golden' })).body).toMatchObject({
    error: { message: expect.stringMatching(/^plan: /) },
  })
  expect((await shop.post(`/keys/${key['id']}/budgets`, { per: 'year', limit_usd: '1' })).body).toMatchObject({
    error: { message: expect.stringMatching(/^per: /) },
  })
})

test('what each window has left is what the ledger counted, under the one who set the budget; an account says its plan and its tags', async () => {
  const key = await done(shop.post('/keys', { name: 'k', balance_usd: '3' }))
  const [ofKey, ofAccount] = [`/keys/${key['id']}`, `/accounts/${key['account_id']}`]
  const budgets = async (path: string) => (await done(shop.get(`${path}/budgets`)))['data'] as Record<string, unknown>[]
  expect([await budgets(ofKey), await budgets(ofAccount)]).toEqual([[], []])
  const body = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
  await (await gateway.post('/v1/messages', String(key['secret']), body)).text()
  await gateway.idle()
  const spent = String((await done(shop.get(ofKey)))['spent_usd'])
  expect(Number(spent)).toBeGreaterThan(0)
  await done(shop.post(`${ofKey}/budgets`, { per: 'month', limit_usd: '2' }))
  await done(shop.post(`${ofAccount}/budgets`, { per: 'month', limit_usd: '0' }))
  const of = { accountId: String(key['account_id']), keyId: String(key['id']) }
  await gateway.operate({ kind: 'setBudget', ...of, per: 'month', capPicos: picos(0n), setBy: 'customer', now: Date.now() })
  const plan: Plan = { name: 'default', models: ['*'], budgets: [{ per: 'month', capPicos: picos(0n) }] }
  gateway.reload({ catalog: { models: new Map(), plans: new Map([[plan.name, plan]]) } })
  const resets_at = isoTime(windowAt('month', hourAt(Date.now())).end * HOUR_MS)
  const nothing = { per: 'month', limit_usd: '0', spent_usd: spent, left_usd: `-${spent}`, resets_at }
  const own = { ...nothing, limit_usd: '2', left_usd: toExactUsdText(picos((parseUsd('2') ?? 0n) - (parseUsd(spent) ?? 0n))) }
  const [account, plans] = [
    { of: 'account', plan: null, set_by: 'operator', ...nothing },
    { of: 'plan', plan: 'default', set_by: 'operator', ...nothing },
  ]
  expect(await budgets(ofKey)).toEqual([
    { of: 'key', plan: null, set_by: 'operator', ...own },
    { of: 'key', plan: null, set_by: 'customer', ...nothing },
    account,
    plans,
  ])
  expect(await budgets(ofAccount)).toEqual([account, plans])

  expect(await done(shop.get(ofAccount))).toMatchObject({ plan: null, tags_user_ids: false })
  await done(shop.post(`${ofAccount}/plan`, { plan: 'default' }))
  const tagged = () => shop.post(`${ofAccount}/tags`, { tags_user_ids: true, reason: 'per seat' }, 'tags-1')
  expect([await done(tagged()), await done(tagged())]).toMatchObject(Array(2).fill({ plan: 'default', tags_user_ids: true }))
  expect(rows("SELECT actor, target, reason FROM audit_log WHERE action = 'setAccountTags'")).toEqual([
    { actor: 'token:shop', target: key['account_id'], reason: 'per seat' },
  ])
})
