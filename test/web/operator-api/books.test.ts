/**
 * The rest of the operator's API: codes, people, receipts, use, statements, the audit log, what the gateway does now, its reload and its verification; each for the tokens
 * that may, and for a bound token of its own accounts alone. Rules: operator-api.md "Scopes", "Writes", "Jobs".
 */

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ConfigProblems } from '../../../src/config/problems.ts'
import { type ApiAnswer, type ApiClient, apiClient } from '../../support/api-client.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts'
import { holdRequest, settlement, usd } from '../../support/ledger.ts'
import { until } from '../../support/until.ts'

type Rows = { data: Record<string, unknown>[]; next_cursor: string | null; has_more: boolean }

let gateway: TestGateway
let all: ApiClient
let bound: ApiClient
const ids = { north: '', south: '', northKey: '', southKey: '', northRequest: '', southRequest: '' }
let reloads = 0
type ReadConfig = (inForce: Parameters<NonNullable<TestGatewayOptions['readConfig']>>[0]) => typeof inForce | ConfigProblems
let read: ReadConfig | undefined

beforeAll(async () => {
  gateway = await startTestGateway({ readConfig: (inForce) => read?.(inForce) ?? inForce, askReload: () => reloads++ })
  all = await apiClient(gateway, { name: 'all' })
  for (const name of ['north', 'south'] as const) {
    const made = (await all.post('/keys', { name, balance_usd: '10' })).body
    ids[name] = String(made['account_id'])
    ids[`${name}Key`] = String(made['id'])
    const message = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
    const answer = await gateway.post('/v1/messages', String(made['secret']), message)
    ids[`${name}Request`] = answer.headers.get('x-request-id') ?? ''
    await answer.text()
  }
  await gateway.idle()
  bound = await apiClient(gateway, { name: 'bound', accountIds: [ids.north] })
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
const rows = async (client: ApiClient, path: string): Promise<Rows> => (await done(client.get(path))) as Rows
const statusOf = async (answer: Promise<ApiAnswer>): Promise<number> => (await answer).status
const auditOf = async (action: string) => (await rows(all, `/audit?action=${action}`)).data[0]

test('receipts and use are those of all accounts, of one, of a key; a bound token sees its own', async () => {
  const requests = async (client: ApiClient, query = '') =>
    (await rows(client, `/receipts${query}`)).data.map(({ request_id }) => request_id)
  expect(await requests(all)).toEqual([ids.southRequest, ids.northRequest])
  expect(await requests(all, `?account_id=${ids.south}`)).toEqual([ids.southRequest])
  expect(await requests(all, `?key_id=${ids.northKey}&outcome=complete`)).toEqual([ids.northRequest])
  const page = await rows(all, '/receipts?limit=1')
  expect(page.has_more).toBe(true)
  expect(await requests(all, `?limit=1&cursor=${page.next_cursor}`)).toEqual([ids.northRequest])
  expect(await requests(bound)).toEqual([ids.northRequest])
  expect(await requests(bound, `?key_id=${ids.northKey}`)).toEqual([ids.northRequest])
  for (const path of [
    `/receipts?account_id=${ids.south}`,
    `/receipts?key_id=${ids.southKey}`,
    `/receipts/${ids.southRequest}`,
    `/usage?key_id=${ids.southKey}`,
  ])
    expect([path, await statusOf(bound.get(path))]).toEqual([path, 404])
  expect(await done(bound.get(`/receipts/${ids.northRequest}`))).toMatchObject({
    request: { account_id: ids.north, upstream: { name: 'simulator' } },
  })
  const usage = await done(all.get('/usage'))
  expect(usage).toMatchObject({ total: { requests: 2 }, data: [{ requests: 1, model: MODEL_ID }, { requests: 1 }] })
  expect(await done(bound.get('/usage'))).toMatchObject({ total: { requests: 1 }, data: [{ account_id: ids.north }] })
  const estimated = `req_${'e'.repeat(32)}`
  const now = Date.now()
  await gateway.world.ledger.hold(holdRequest(estimated, ids.southKey, usd('0.01'), { now }))
  await gateway.world.ledger.settle(settlement(estimated, { output: 10 }, { usageSource: 'estimated', bytesPerToken: 4, now }))
  expect(await requests(all, '?only=estimated')).toEqual([estimated])
  expect(await requests(bound, '?only=estimated')).toEqual([])
  expect((await rows(all, '/attempts')).data).toEqual([])
  expect(await statusOf(bound.get('/attempts'))).toBe(403)
})

test('a statement is signed and whole, and only of an account that the token sees', async () => {
  const statement = (client: ApiClient, account: string) =>
    fetch(`${gateway.operatorUrl}/api/v1/accounts/${account}/statement`, { headers: { authorization: `Bearer ${client.token}` } })
  const answer = await statement(bound, ids.north)
  expect(answer.headers.get('content-type')).toBe('application/jsonl')
  const lines = (await answer.text()).trimEnd().split('\n')
  expect(lines.at(-1)).toContain('"signature"')
  expect(lines.join()).toContain(ids.northRequest)
  expect((await statement(bound, ids.south)).status).toBe(404)
})

test('codes are made and shown once, redeemed once, taken back; a bound token redeems to its account alone', async () => {
  const create = () => all.post('/codes', { count: 2, amount_usd: '5', name: 'spring' }, 'codes-1')
  const made = (await done(create())) as { id: string; codes: string[] }
  expect(made).toMatchObject({ count: 2, redeemed: 0, amount_usd: '5', codes_shown: false })
  expect(await done(create())).toMatchObject({ id: made.id, codes: null, codes_shown: true })
  const [first = '', second = ''] = made.codes
  const redeem = (client: ApiClient, code: string, account_id: string, key?: string) =>
    client.post('/codes/redeem', { code, account_id }, key)
  expect(await statusOf(redeem(bound, first, ids.south))).toBe(400)
  expect(await done(redeem(bound, first, ids.north, 'r-1'))).toMatchObject({ amount_usd: '5', already: false })
  expect(await done(redeem(bound, first, ids.north, 'r-1'))).toMatchObject({ amount_usd: '5', already: true })
  expect(await done(redeem(bound, first, ids.north))).toMatchObject({ amount_usd: '5', already: true })
  expect(await statusOf(redeem(all, first, ids.south))).toBe(400)
  expect(await done(all.get('/codes/spring'))).toMatchObject({ redeemed: 1, data: [{ account_id: ids.north }, { account_id: null }] })
  expect(await done(all.post('/codes/spring/disable', { reason: 'over' }))).toMatchObject({ state: 'disabled' })
  expect(await statusOf(redeem(all, second, ids.south))).toBe(400)
  expect((await rows(all, '/codes')).data).toMatchObject([{ id: made.id }])
  for (const answer of [bound.get('/codes'), bound.get('/codes/spring'), bound.post('/codes', { count: 1, amount_usd: '1' })])
    expect(await statusOf(answer)).toBe(403)
})

test('people are invited by a link that one answer has, listed and removed', async () => {
  const invite = (key?: string) =>
    all.post('/people/invite', { email: 'Ann@example.com', account_id: ids.north, role: 'reader', reason: 'asked' }, key)
  expect(await done(invite('p-1'))).toMatchObject({
    email: 'ann@example.com',
    role: 'reader',
    link: expect.stringContaining('/cabinet/invite/'),
    link_shown: false,
  })
  expect(await done(invite('p-1'))).toMatchObject({ link: null, link_shown: true })
  expect(await auditOf('setAccess')).toMatchObject({
    actor: 'token:all',
    target: ids.north,
    after: { email: 'ann@example.com', access: 'reader' },
    reason: 'asked',
  })
  const person = await gateway.people().known('bob@example.com')
  await gateway.people().memberships.makeOperator(person.id)
  expect(await done(all.post('/people/links', { email: 'bob@example.com', link: 'sign-in', listener: 'console' }))).toMatchObject({
    link: expect.stringContaining('/console/'),
  })
  expect(await done(all.get('/people'))).toMatchObject({
    data: [{ email: 'bob@example.com', is_operator: true }],
    invitations: [{ email: 'ann@example.com' }],
  })
  expect(await done(all.post('/people/remove', { email: 'bob@example.com', from: 'console' }))).toEqual({
    email: 'bob@example.com',
    removed_from: 'console',
  })
  expect(await statusOf(all.post('/people/remove', { email: 'bob@example.com', from: 'console' }))).toBe(404)
  for (const answer of [bound.get('/people'), bound.post('/people/invite', { email: 'x@example.com', account_id: ids.north })])
    expect(await statusOf(answer)).toBe(403)
  expect(await statusOf((await apiClient(gateway, { scope: 'money' })).post('/people/invite', { email: 'x@example.com' }))).toBe(403)
})

test('an invitation or a removal that may mean an account or more is refused with its field', async () => {
  const invite = { email: 'ann@example.com', role: 'reader' }
  const remove = { email: 'ann@example.com', account_id: ids.north }
  for (const [path, body] of [
    ['/people/invite', invite],
    ['/people/remove', { ...remove, from: 'everything' }],
    ['/people/remove', { ...remove, from: 'console' }],
    ['/people/remove', { email: 'ann@example.com', from: 'account' }],
  ] as const)
    expect([body, await all.post(path, body)]).toMatchObject([
      body,
      { status: 400, body: { error: { message: expect.stringMatching(/^account_id: /) } } },
    ])
})

test('a removal under an Idempotency-Key that another request used removes nobody', async () => {
  const { memberships } = gateway.people()
  const person = await gateway.people().known('carl@example.com')
  await memberships.join(person.id, { accountId: ids.north, role: 'owner' })
  const remove = (email: string) => all.post('/people/remove', { email, from: 'account', account_id: ids.north }, 'r-1')
  await statusOf(all.post('/people/invite', { email: 'dora@example.com', account_id: ids.north }))
  expect(await done(remove('dora@example.com'))).toEqual({ email: 'dora@example.com', removed_from: 'account' })
  expect(await done(remove('dora@example.com'))).toEqual({ email: 'dora@example.com', removed_from: 'account' })
  expect(await statusOf(remove('carl@example.com'))).toBe(400)
  expect(await memberships.membership(person.id, ids.north)).toMatchObject({ role: 'owner' })
})

test('an upstream is taken out and put back as one act, in the name of the token', async () => {
  expect(await done(all.get('/upstreams'))).toMatchObject({ data: [{ name: 'simulator', out: null }], unanswered: [] })
  const out = () => all.post('/upstreams/simulator/out', { reason: 'a look' })
  expect(await done(out())).toMatchObject({ already: false, left: 0, unanswered: [] })
  expect(await done(out())).toMatchObject({ already: true })
  expect(await done(all.get('/upstreams'))).toMatchObject({ data: [{ out: { by: 'token:all', reason: 'a look' } }] })
  expect(await done(all.post('/upstreams/simulator/in'))).toMatchObject({ already: false, left: 1 })
  expect(await statusOf(all.post('/upstreams/nowhere/out'))).toBe(404)
  expect(await auditOf('setUpstreamOut')).toMatchObject({ actor: 'token:all', target: 'simulator' })
  expect(await statusOf(bound.post('/upstreams/simulator/out'))).toBe(403)
  expect(await done(all.get('/nodes'))).toMatchObject({ data: [{ lane: 0, state: 'running' }], differs: [] })
  expect(await rows(bound, '/holds')).toMatchObject({ data: [], has_more: false })
})

test('the audit log is all of it, or what was done to an account or key of the token', async () => {
  expect((await rows(all, '/audit?limit=2')).data).toHaveLength(2)
  expect((await rows(bound, `/audit?target=${ids.northKey}`)).data).toMatchObject([{ action: 'createKey', target: ids.northKey }])
  expect((await rows(bound, `/audit?target=${ids.north}`)).data.length).toBeGreaterThan(1)
  for (const [path, status] of [
    ['/audit', 400],
    [`/audit?target=${ids.south}`, 404],
    [`/audit?target=${ids.southKey}`, 404],
    ['/audit?target=spring', 404],
    [`/audit?target=${bound.tokenId}`, 404],
  ] as const)
    expect([path, await statusOf(bound.get(path))]).toEqual([path, status])
})

test('a reload is asked for once, behind its line; a file with mistakes changes nothing', async () => {
  read = () => ({ file: 'tollgate.toml', problems: [{ path: 'models.0.id', message: 'Expected a name' }] }) as ConfigProblems
  expect(await statusOf(all.post('/reload'))).toBe(400)
  expect(await done(all.get('/reload'))).toMatchObject({ problems: [{ path: 'models.0.id' }] })
  expect(reloads).toBe(0)
  read = (inForce) => ({ ...inForce, limits: { ...inForce.limits, drainMs: inForce.limits.drainMs + 1 } })
  expect(await done(all.post('/reload', { reason: 'more' }, 'reload-1'))).toMatchObject({ problems: [], changes: [expect.anything()] })
  await done(all.post('/reload', { reason: 'more' }, 'reload-1'))
  expect(reloads).toBe(1)
  expect(await auditOf('reload')).toMatchObject({ actor: 'token:all', target: 'configuration', reason: 'more', after: { changes: 1 } })
  expect(await statusOf(bound.post('/reload'))).toBe(403)
})

test('a reload with the digest of a preview is that change or none', async () => {
  const drainMs =
    (by: number): ReadConfig =>
    (inForce) => ({ ...inForce, limits: { ...inForce.limits, drainMs: inForce.limits.drainMs + by } })
  read = drainMs(7)
  const { digest, things } = await done(all.get('/reload'))
  expect(things).toMatchObject([{ kind: 'gateway', state: 'changed', changes: [{ setting: 'limits.drain_ms' }] }])
  const before = reloads
  read = drainMs(8)
  const refused = await all.post('/reload', { digest }, 'digest-1')
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('digest: ')])
  expect(reloads).toBe(before)
  read = drainMs(7)
  await done(all.post('/reload', { digest }, 'digest-2'))
  expect(reloads).toBe(before + 1)
})

test('a reload whose file changes behind its line is refused, however often it is asked for, and the log says so', async () => {
  const by = (more: number): ReadConfig => {
    return (inForce) => ({ ...inForce, limits: { ...inForce.limits, drainMs: inForce.limits.drainMs + more } })
  }
  read = by(31)
  const { digest } = await done(all.get('/reload'))
  const written = async () => [
    (await rows(all, '/audit?action=reload')).data.length,
    (await rows(all, '/audit?action=refuseReload')).data.length,
  ]
  const [before, [asked = 0, refusals = 0]] = [reloads, await written()]
  // The looks of one call: whether it is what was asked for, and whether it is so behind the line.
  let looks = 0
  read = (inForce) => by(++looks === 1 ? 31 : 32)(inForce)
  const ask = () => all.post('/reload', { digest, reason: 'more' }, 'behind-1')
  for (const call of ['the call', 'its repetition']) {
    const refused = await ask()
    expect([call, refused.status, JSON.stringify(refused.body)]).toEqual([call, 400, expect.stringContaining('digest: ')])
  }
  expect([reloads, await written()]).toEqual([before, [asked + 1, refusals + 1]])
  expect(await auditOf('refuseReload')).toMatchObject({ actor: 'token:all', target: 'configuration', reason: 'more' })
  // What was refused leaves the header free: back as it was looked at, it is reloaded.
  read = by(31)
  await done(ask())
  await done(ask())
  expect([reloads, await written()]).toEqual([before + 1, [asked + 2, refusals + 1]])
})

test('a repeated reload is the first one, whatever the file has become since, and asks for no other', async () => {
  const lines = async () => (await rows(all, '/audit?action=reload')).data.length
  const by = (more: number) => {
    read = (inForce) => ({ ...inForce, limits: { ...inForce.limits, drainMs: inForce.limits.drainMs + more } })
  }
  by(21)
  const { digest } = await done(all.get('/reload'))
  const ask = (once: string) => all.post('/reload', { digest }, once)
  await done(ask('again-1'))
  await done(all.post('/reload', {}, 'again-2'))
  const [before, noted] = [reloads, await lines()]
  by(22)
  await done(ask('again-1'))
  expect(await statusOf(ask('again-3'))).toBe(400)
  read = () => ({ file: 'tollgate.toml', problems: [{ path: 'models.0.id', message: 'Expected a name' }] }) as ConfigProblems
  await done(ask('again-1'))
  await done(all.post('/reload', {}, 'again-2'))
  expect(await statusOf(all.post('/reload', {}, 'again-3'))).toBe(400)
  by(21)
  await done(ask('again-1'))
  expect([reloads, await lines()]).toEqual([before, noted])
})

test('a verification is a job with its progress: it ends clean, and names a row that was changed behind the ledger', async () => {
  const run = async () => {
    const { id } = await done(all.post('/verifications'))
    await until(async () => (await done(all.get(`/verifications/${id}`)))['state'] !== 'running')
    return await done(all.get(`/verifications/${id}`))
  }
  const clean = await run()
  expect(clean).toMatchObject({ state: 'done', ok: true, differences: [], problem: null, progress: { step: 'chains' } })
  const { done: walked, of } = clean['progress'] as { done: number; of: number }
  expect(walked).toBe(of)
  const change = (by: string) => {
    const db = new Database(gateway.ledgerPath)
    try {
      db.run('PRAGMA busy_timeout = 5000')
      db.run(`UPDATE usage_daily SET requests = requests ${by} WHERE key_number = (SELECT number FROM keys WHERE id = '${ids.northKey}')`)
    } finally {
      db.close()
    }
  }
  change('+ 1')
  try {
    const found = await run()
    expect(found).toMatchObject({ state: 'done', ok: false })
    const [difference] = found['differences'] as { stored: string; recomputed: string }[]
    expect([difference?.stored[0], difference?.recomputed[0]]).toEqual(['2', '1'])
  } finally {
    change('- 1')
  }
  expect(await statusOf(all.get('/verifications/ver_none'))).toBe(404)
  expect(await statusOf(bound.post('/verifications'))).toBe(403)
})
