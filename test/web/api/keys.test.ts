/**
 * The keys of an account by its pages: each write is one line in the audit log with the person, readers only look, what is another account's does not exist, a
 * page of another origin writes nothing, mistakes are told with their field, and a form that is sent twice makes one key. Rules: pages.md "Keys of an account".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { DAY_MS } from '../../../src/core/utc.ts'
import type { Role } from '../../../src/people/memberships.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { usd } from '../../support/ledger.ts'
import { Browser, PASSWORD } from '../../support/people.ts'

let gateway: TestGateway
let ann: Browser
let rob: Browser
let eve: Browser
beforeAll(async () => {
  gateway = await startTestGateway()
  await gateway.createKey({ id: 'key_north', balanceUsd: '5' })
  await gateway.createKey({ id: 'key_south', balanceUsd: '5' })
  ann = await signIn('ann@example.com', 'acc_north', 'owner')
  rob = await signIn('rob@example.com', 'acc_north', 'reader')
  eve = await signIn('eve@example.com', 'acc_south', 'owner')
})
afterAll(() => gateway.stop())

async function signIn(email: string, accountId: string, role: Role): Promise<Browser> {
  const people = gateway.people()
  const browser = new Browser({ handle: (request) => fetch(request) }, people.origins('cabinet').base, 'cabinet', '192.0.2.1')
  const token = await people.links.invite(email, { accountId, role }, 'os:test')
  expect((await browser.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
  return browser
}

const KEYS = '/api/accounts/acc_north/keys'
const newKeyId = (): string => `key_${Bun.randomUUIDv7('hex').replaceAll('-', '')}`
const wanted = (more: object = {}) => ({ id: newKeyId(), name: `key ${newKeyId()}`, limit_usd: null, expires_in_days: null, ...more })
const patch = (browser: Browser, path: string, body: unknown) => browser.send('PATCH', path, body)
const ask = (secret: unknown) =>
  gateway.post('/v1/messages', String(secret), { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })

async function auditOf(keyId: string): Promise<readonly Readonly<{ action: string; actor: string; address: string }>[]> {
  const page = await gateway.world.reports.ask('test', { kind: 'audit', target: keyId, limit: 50 })
  return typeof page === 'object' ? page.rows : []
}

test('from its making to its end a key works as the page says, and each act is in the audit log with who did it', async () => {
  const body = wanted({ limit_usd: '2.50', expires_in_days: 30 })
  const made = await ann.post(KEYS, body)
  expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect((await ask(made.body['secret'])).status).toBe(200)
  await gateway.idle()
  const key = `${KEYS}/${body.id}`
  const shown = (await ann.get(key)).body
  expect(shown).toMatchObject({ id: body.id, name: body.name, plan: 'default', state: 'live', limit_usd: '2.5', running_requests: 0 })
  expect(shown['spent_usd']).toBe(String(Number(gateway.spendOf(body.id).spentPicos) / 1e12))
  expect(shown['display']).toBe(`sk-…${String(made.body['secret']).slice(-4)}`)
  expect(JSON.stringify(shown)).not.toContain(String(made.body['secret']))

  const name = `renamed ${body.name}`
  expect((await patch(ann, key, { name, limit_usd: null })).body).toMatchObject({ name, limit_usd: null })
  const expiry = Date.parse(String(shown['expires_at']))
  expect((await ann.post(`${key}/extend`, { days: 10 })).body['expires_at']).toBe(new Date(expiry + 10 * DAY_MS).toISOString())
  const rotated = (await ann.post(`${key}/rotate`, { overlap_hours: 1 })).body
  expect([(await ask(made.body['secret'])).status, (await ask(rotated['secret'])).status]).toEqual([200, 200])
  expect((await ann.get(key)).body['old_secret']).toMatchObject({ display: shown['display'] })
  expect((await ann.post(`${key}/disable`, {})).body['state']).toBe('disabled')
  expect((await ask(rotated['secret'])).status).toBe(401)
  expect((await ann.post(`${key}/enable`, {})).body['state']).toBe('live')
  expect(await ann.post(`${key}/rotate`, { overlap_hours: 0 })).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining(`An earlier rotation promised the old secret ${String(shown['display'])} until `) } },
  })
  expect((await ask(made.body['secret'])).status).toBe(200)
  await ann.post(`${key}/rotate`, { overlap_hours: 0, ends_promised: true })
  expect([(await ask(made.body['secret'])).status, (await ask(rotated['secret'])).status]).toEqual([401, 401])

  const acts = await auditOf(body.id)
  expect(acts.map(({ action }) => action).toSorted()).toEqual(
    ['createKey', 'renameKey', 'rotateKey', 'rotateKey', 'setKeyActive', 'setKeyActive', 'setKeyExpiry', 'setKeyLimit'].toSorted(),
  )
  for (const { actor, address } of acts) expect([actor, address]).toEqual(['person:ann@example.com', '127.0.0.1'])
  expect((await ann.get(KEYS)).body['data']).toContainEqual((await ann.get(key)).body)
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
})

test('an owner tightens what the operator allows in a window, never loosens it, and removes only his own', async () => {
  const made = await ann.post(KEYS, wanted())
  const [keyId, secret] = [String(made.body['id']), made.body['secret']]
  const budget = { kind: 'setBudget', accountId: 'acc_north', keyId, per: 'day', setBy: 'operator' } as const
  await gateway.operate({ ...budget, capPicos: usd('3'), now: Date.now() })
  const set = (limit_usd: string | null) => ann.post(`${KEYS}/${keyId}/budgets`, { per: 'day', limit_usd })
  expect(await set('3.5')).toMatchObject({
    status: 409,
    body: { error: { field: 'limit_usd', message: "The operator's budget is 3 USD per day, and yours may be less, not more" } },
  })
  const operators = { of: 'key', per: 'day', set_by: 'operator', limit_usd: '3', spent_usd: '0', left_usd: '3' }
  expect((await ann.get(`${KEYS}/${keyId}/budgets`)).body['data']).toMatchObject([operators])
  expect((await set('0')).body['data']).toMatchObject([operators, { set_by: 'customer', limit_usd: '0', left_usd: '0' }])
  expect((await ask(secret)).status).toBe(429)
  expect((await set(null)).body['data']).toMatchObject([operators])
  expect((await ask(secret)).status).toBe(200)
  await gateway.idle()
  expect((await auditOf(keyId)).filter(({ actor }) => actor.startsWith('person:')).map(({ action }) => action)).toEqual([
    'setBudget',
    'setBudget',
    'createKey',
  ])
})

test('an owner tightens what all keys of the account may spend in a window, beside the operator’s own budget; a reader looks, and nobody else finds it', async () => {
  const made = await ann.post(KEYS, wanted())
  const secret = made.body['secret']
  const path = '/api/accounts/acc_north/budgets'
  const budget = { kind: 'setBudget', accountId: 'acc_north', keyId: null, per: 'month', setBy: 'operator' } as const
  await gateway.operate({ ...budget, capPicos: usd('3'), now: Date.now() })
  const set = (limit_usd: string | null, by = ann) => by.post(path, { per: 'month', limit_usd })
  expect(await set('3.5')).toMatchObject({
    status: 409,
    body: { error: { field: 'limit_usd', message: "The operator's budget is 3 USD per month, and yours may be less, not more" } },
  })
  expect(await set('-1')).toMatchObject({ status: 400, body: { error: { field: 'limit_usd' } } })
  const operators = { of: 'account', per: 'month', set_by: 'operator', limit_usd: '3' }
  const own = { of: 'account', per: 'month', set_by: 'customer', limit_usd: '0' }
  expect((await ann.get(path)).body['data']).toMatchObject([operators])
  expect([(await set('0', rob)).status, (await set('0', eve)).status, (await eve.get(path)).status]).toEqual([403, 404, 404])
  expect((await set('0')).body['data']).toMatchObject([operators, own])
  expect((await rob.get(path)).body['data']).toMatchObject([operators, own])
  expect((await ann.get(`${KEYS}/${made.body['id']}/budgets`)).body['data']).toMatchObject([operators, own])
  expect((await ask(secret)).status).toBe(429)
  expect((await set(null)).body['data']).toMatchObject([operators])
  expect((await ask(secret)).status).toBe(200)
  await gateway.operate({ ...budget, capPicos: null, now: Date.now() })
  await gateway.idle()
})

const WRITES: readonly (readonly [string, string, object])[] = [
  ['POST', '', wanted()],
  ['PATCH', '/key_north', { name: 'taken over' }],
  ['PATCH', '/key_north', { limit_usd: '1' }],
  ['POST', '/key_north/extend', { days: 1 }],
  ['POST', '/key_north/budgets', { per: 'day', limit_usd: '1' }],
  ['POST', '/key_north/rotate', { overlap_hours: 0 }],
  ['POST', '/key_north/disable', {}],
  ['POST', '/key_north/enable', {}],
]

test('a reader looks and changes nothing; a stranger finds nothing; nobody is asked to sign in; another origin is refused', async () => {
  const before = (await ann.get(`${KEYS}/key_north`)).body
  const acts = await auditOf('key_north')
  const nobody = new Browser({ handle: (request) => fetch(request) }, ann.base, 'cabinet', '192.0.2.1')
  for (const [method, path, body] of WRITES) {
    expect([path, (await rob.send(method, `${KEYS}${path}`, body)).status]).toEqual([path, 403])
    expect([path, (await eve.send(method, `${KEYS}${path}`, body)).status]).toEqual([path, 404])
    expect([path, (await nobody.send(method, `${KEYS}${path}`, body)).status]).toEqual([path, 401])
    for (const origin of ['https://evil.example', 'null', null]) {
      ann.origin = origin
      expect([path, (await ann.send(method, `${KEYS}${path}`, body)).status]).toEqual([path, 403])
    }
    ann.origin = ann.base
    // By her own account's address: the key is not of it.
    const own = `/api/accounts/acc_south/keys${path}`
    if (path !== '') expect([own, (await eve.send(method, own, body)).status]).toEqual([own, 404])
  }
  for (const path of [KEYS, `${KEYS}/key_north`, `${KEYS}/key_north/budgets`, '/api/accounts/acc_north/running']) {
    expect([path, (await rob.get(path)).status, (await eve.get(path)).status, (await nobody.get(path)).status]).toEqual([
      path,
      200,
      404,
      401,
    ])
  }
  expect((await eve.get('/api/accounts/acc_south/keys/key_north')).body).toEqual((await eve.get('/api/accounts/acc_none/keys')).body)
  expect((await eve.get(`/api/accounts/acc_south/keys?after=key_north`)).status).toBe(404)
  expect((await ann.get(`${KEYS}/key_north`)).body).toEqual(before)
  expect(await auditOf('key_north')).toEqual(acts)
})

test('what is wrong is told with its field, and nothing is written', async () => {
  const { length } = (await ann.get(KEYS)).body['data'] as unknown[]
  const mistakes: readonly (readonly [object, string])[] = [
    [{ name: '' }, 'name'],
    [{ name: ' x' }, 'name'],
    [{ name: 'acc_1' }, 'name'],
    [{ name: 'x'.repeat(129) }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ limit_usd: 'much' }, 'limit_usd'],
    [{ limit_usd: '-1' }, 'limit_usd'],
    [{ limit_usd: '99999999999' }, 'limit_usd'],
    [{ limit_usd: 5 }, 'limit_usd'],
    [{ expires_in_days: 0 }, 'expires_in_days'],
    [{ expires_in_days: 91 }, 'expires_in_days'],
    [{ expires_in_days: 1.5 }, 'expires_in_days'],
    [{ id: 'key_1' }, 'id'],
  ]
  for (const [mistake, field] of mistakes) {
    const { status, body } = await ann.post(KEYS, wanted(mistake))
    expect([mistake, status, (body['error'] as { field?: string }).field]).toEqual([mistake, 400, field])
  }
  for (const [path, body, field] of [
    ['/extend', { days: 91 }, 'days'],
    ['/rotate', { overlap_hours: 2_161 }, 'overlap_hours'],
    ['/budgets', { per: 'year', limit_usd: '1' }, 'per'],
    ['/budgets', { per: 'day', limit_usd: '-1' }, 'limit_usd'],
  ] as const) {
    const answer = await ann.post(`${KEYS}/key_north${path}`, body)
    expect([path, answer.status, (answer.body['error'] as { field?: string }).field]).toEqual([path, 400, field])
  }
  const late = await ann.post(KEYS, wanted({ expires_in_days: 85 }))
  const extended = await ann.post(`${KEYS}/${late.body['id']}/extend`, { days: 10 })
  expect(extended.body['error']).toEqual({ message: 'It can have 5 days more at most', field: 'days' })
  expect((await ann.get(KEYS)).body['data']).toHaveLength(length + 1)
})

test('a form that is sent twice, also at once, makes one key, and only the first answer has a secret', async () => {
  const body = wanted()
  const answers = await Promise.all([1, 2, 3].map(() => ann.post(KEYS, body)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
  const rows = (await ann.get(KEYS)).body['data'] as { id: string }[]
  expect(rows.filter(({ id }) => id === body.id)).toHaveLength(1)
})

test('an id that another account has used gives nothing of it away', async () => {
  const body = wanted()
  expect((await eve.post('/api/accounts/acc_south/keys', body)).status).toBe(200)
  expect((await ann.post(KEYS, body)).status).toBe(409)
  expect((await ann.get(`${KEYS}/${body.id}`)).status).toBe(404)
})

test('a name is one key’s of the account, and of other accounts’ names nothing is learned', async () => {
  const body = wanted({ name: 'production' })
  expect((await eve.post('/api/accounts/acc_south/keys', body)).status).toBe(200)
  const again = await eve.post('/api/accounts/acc_south/keys', wanted({ name: 'production' }))
  expect([again.status, again.body['error']]).toEqual([409, { message: 'Another key of this account has this name', field: 'name' }])
  const own = await ann.post(KEYS, wanted({ name: 'production' }))
  expect(own.status).toBe(200)
  const other = await ann.post(KEYS, wanted())
  expect((await patch(ann, `${KEYS}/${other.body['id']}`, { name: 'production' })).status).toBe(409)
})

test('somebody who changes without end is slowed down, alone', async () => {
  const zoe = await signIn('zoe@example.com', 'acc_north', 'owner')
  const statuses: number[] = []
  for (let sent = 0; sent < 200 && statuses.at(-1) !== 429; sent++) {
    const answer = await patch(zoe, `${KEYS}/key_north`, { limit_usd: '4' })
    statuses.push(answer.status)
    if (answer.status === 429) expect(answer.headers.get('retry-after')).toBe('1')
  }
  expect([statuses.at(-1), statuses.length > 100]).toEqual([429, true])
  expect((await zoe.get(KEYS)).status).toBe(200)
  expect((await patch(ann, `${KEYS}/key_north`, { limit_usd: null })).status).toBe(200)
})

test('pages of keys lead from the newest to the oldest without a gap', async () => {
  const ids: string[] = []
  for (let made = 0; made < 55; made++) ids.push(String((await eve.post('/api/accounts/acc_south/keys', wanted())).body['id']))
  const first = (await eve.get('/api/accounts/acc_south/keys')).body as { data: { id: string }[]; next_cursor: string }
  expect(first.data.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 50))
  const second = (await eve.get(`/api/accounts/acc_south/keys?after=${first.next_cursor}`)).body as typeof first
  expect(second.data.slice(0, 5).map(({ id }) => id)).toEqual(ids.toReversed().slice(50))
  expect(second.next_cursor).toBeNull()
})
