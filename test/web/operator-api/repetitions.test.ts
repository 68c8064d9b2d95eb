/**
 * A repetition under an Idempotency-Key is the first write: it does nothing, leaves no line, takes back nothing that was given since, and is not refused by what became
 * of the configuration meanwhile. Rules: operator-api.md "Writes"; operator.md "Audit".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../../src/core/limits.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { type ApiAnswer, type ApiClient, apiClient } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'

let gateway: TestGateway
let shop: ApiClient
let account = ''
/** The process dies behind the commit of the next write of this kind: its answer comes to nobody, and nothing is done after it. */
let diesBehind: string | undefined

const mortal = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'operate') return typeof value === 'function' ? value.bind(target) : value
      return async (...[operation, act]: Parameters<Ledger['operate']>) => {
        const done = await target.operate(operation, act)
        if (operation.kind !== diesBehind) return done
        diesBehind = undefined
        throw new Error('the process died')
      }
    },
  })

beforeAll(async () => {
  gateway = await startTestGateway({ wrapLedger: mortal, upstreams: ['http://127.0.0.1:9'] })
  shop = await apiClient(gateway, { name: 'shop' })
  account = String((await done(shop.post('/accounts', { name: 'north' })))['id'])
})
afterAll(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})

const done = async (answer: Promise<ApiAnswer>): Promise<Record<string, unknown>> => {
  const { status, body } = await answer
  expect([status, body]).toEqual([200, body])
  return body
}
const lines = async (action: string, target: string) => {
  const { data } = await done(shop.get(`/audit?action=${action}&target=${target}`))
  return (data as Record<string, unknown>[]).length
}
const isMember = async (email: string): Promise<boolean> =>
  (await gateway.people().memberships.membersOf(account)).some((member) => member.email === email)
const join = async (email: string): Promise<void> => {
  const person = await gateway.people().known(email)
  await gateway.people().memberships.join(person.id, { accountId: account, role: 'owner' })
}

test('an invitation is one, whatever became of its link: used, taken back or replaced', async () => {
  const invite = () => done(shop.post('/people/invite', { email: 'ann@example.com' }, 'i-1'))
  const { link, expires_at } = await invite()
  expect(link).toEqual(expect.stringContaining('/console/invite/'))
  const repeated = { email: 'ann@example.com', role: 'operator', link: null, link_shown: true, is_mailed: false }
  expect(await invite()).toMatchObject({ ...repeated, expires_at })
  await gateway.people().links.withdraw('ann@example.com', null)
  expect(await invite()).toMatchObject({ ...repeated, expires_at: null })
  expect(await gateway.people().links.invitations()).toEqual([])
  expect(await lines('setAccess', 'ann@example.com')).toBe(1)
})

test('eight invitations at once under one key make one link, which one answer has', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => done(shop.post('/people/invite', { email: 'bob@example.com', account_id: account }, 'i-2'))),
  )
  expect(answers.filter(({ link }) => link !== null)).toHaveLength(1)
  expect(await gateway.people().links.invitations(account)).toHaveLength(1)
  expect(await lines('setAccess', account)).toBe(1)
})

test('a repeated removal does not put out again who was let in since, and leaves no line', async () => {
  await join('carl@example.com')
  const before = await lines('setAccess', account)
  const remove = () => shop.post('/people/remove', { email: 'carl@example.com', from: 'account', account_id: account }, 'r-1')
  const shown = { email: 'carl@example.com', removed_from: 'account' }
  expect(await done(remove())).toEqual(shown)
  expect(await isMember('carl@example.com')).toBe(false)
  await join('carl@example.com')
  await gateway.people().links.invite('carl@example.com', { accountId: account, role: 'reader' }, 'os:root')
  expect(await done(remove())).toEqual(shown)
  expect(await isMember('carl@example.com')).toBe(true)
  expect((await gateway.people().links.invitations(account)).some(({ email }) => email === 'carl@example.com')).toBe(true)
  expect(await lines('setAccess', account)).toBe(before + 1)
})

test.each(['account', 'console', 'everything'] as const)(
  'a removal from %s that died behind its line is finished by the repetition',
  async (from) => {
    const email = `${from}@example.com`
    await join(email)
    const { memberships } = gateway.people()
    const { id } = await gateway.people().known(email)
    await memberships.makeOperator(id)
    const remove = () =>
      shop.post('/people/remove', { email, from, ...(from === 'account' ? { account_id: account } : {}) }, `died-${from}`)
    diesBehind = 'setAccess'
    expect((await remove()).status).toBe(500)
    expect([await isMember(email), await memberships.isOperator(id)]).toEqual([true, true])
    await done(remove())
    expect([await isMember(email), await memberships.isOperator(id)]).toEqual([from === 'console', from === 'account'])
  },
)

test('a removal of a person who is not there leaves no line, with or without a key', async () => {
  const before = await lines('setAccess', account)
  for (const key of [undefined, 'r-2', 'r-2'])
    expect((await shop.post('/people/remove', { email: 'none@example.com', from: 'account', account_id: account }, key)).status).toBe(404)
  expect(await lines('setAccess', account)).toBe(before)
})

test('a link that was given is not given again, also where its person is gone', async () => {
  await join('dora@example.com')
  const give = () => shop.post('/people/links', { email: 'dora@example.com', link: 'sign-in', listener: 'cabinet' }, 'l-1')
  expect((await done(give()))['link']).not.toBeNull()
  await gateway.people().memberships.remove('dora@example.com', 'all')
  expect(await done(give())).toEqual({ email: 'dora@example.com', link: null, link_shown: true, is_mailed: false })
  expect((await shop.post('/people/links', { email: 'dora@example.com', link: 'sign-in', listener: 'cabinet' }, 'l-2')).status).toBe(404)
  expect(await lines('giveLink', 'dora@example.com')).toBe(1)
})

test('an upstream that was put back since stays, and one that a reload took away is answered as it was', async () => {
  const [{ name }] = (await done(shop.get('/upstreams')))['data'] as [{ name: string }]
  const out = () => shop.post(`/upstreams/${name}/out`, {}, 'o-1')
  expect(await done(out())).toMatchObject({ already: false })
  await done(shop.post(`/upstreams/${name}/in`))
  expect(await done(out())).toMatchObject({ already: true, unanswered: [] })
  expect((await done(shop.get('/upstreams')))['data']).toMatchObject([{ name, out: null }])
  expect(await lines('setUpstreamOut', name)).toBe(2)
  gateway.reload({ upstreams: [] })
  expect(await done(out())).toMatchObject({ already: true })
  expect((await shop.post(`/upstreams/${name}/out`, {}, 'o-2')).status).toBe(404)
})

test('what was done under the configuration before is repeated under the one after it; what is new is refused', async () => {
  const key = await done(shop.post('/keys', { name: 'k', plan: 'small' }, 'k-1'))
  const rate = (once: string) => shop.post(`/keys/${key['id']}/rates`, { concurrent_requests: 9, requests_per_minute: 30 }, once)
  const plan = (once: string) => shop.post(`/accounts/${account}/plan`, { plan: 'small' }, once)
  const create = (once: string) => shop.post('/keys', { name: once === 'k-1' ? 'k' : once, plan: 'small' }, once)
  await done(rate('q-1'))
  await done(plan('p-1'))
  gateway.reload({ catalog: { models: new Map(), plans: new Map() }, limits: { ...LIMITS, concurrentRequests: 4 } })
  expect(await done(create('k-1'))).toMatchObject({ id: key['id'], secret: null, secret_shown: true })
  expect(await done(rate('q-1'))).toMatchObject({ id: key['id'], rates: { concurrent_requests: 9, requests_per_minute: 30 } })
  expect(await done(plan('p-1'))).toMatchObject({ plan: 'small' })
  for (const [answer, field] of [
    [create('k-2'), 'plan'],
    [rate('q-2'), 'concurrent_requests'],
    [plan('p-2'), 'plan'],
    [shop.post('/keys', { plan: 'small' }), 'plan'],
  ] as const) {
    const { status, body } = await answer
    expect([status, (body['error'] as { message: string }).message.split(':')[0]]).toEqual([400, field])
  }
  expect((await shop.post(`/keys/${key['id']}/rates`, { concurrent_requests: 8 }, 'q-1')).body).toMatchObject({
    error: { message: 'Idempotency-Key: it was used by another request' },
  })
  expect([await lines('setKeyRates', String(key['id'])), await lines('setAccountPlan', account)]).toEqual([1, 1])
})
