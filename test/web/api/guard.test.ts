/** Nobody does anything from a foreign page, sees an account that is not his, or keeps a session that was ended. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { PeopleWorld } from '../../support/people.ts'

let world: PeopleWorld
beforeEach(() => {
  world = new PeopleWorld()
})
afterEach(() => world.remove())

test('whatever changes something needs the origin of a page of ours', async () => {
  const browser = await world.add('ann@example.com')
  for (const origin of [
    null,
    'null',
    '',
    'https://evil.example',
    'http://localhost:8081',
    'https://localhost:8080',
    'http://localhost:8080.evil.example',
  ]) {
    browser.origin = origin
    for (const [method, path] of [
      ['POST', '/api/accounts/acc_north/keys'],
      ['DELETE', '/api/sessions'],
      ['POST', '/auth/sign-out'],
      ['POST', '/auth/link'],
      ['PUT', '/api/me'],
      ['POST', '/auth/sign-in/email'],
    ] as const) {
      const { status } = await browser.send(method, path, {})
      expect([origin, path, status]).toEqual([origin, path, 403])
    }
  }
  for (const origin of ['http://localhost:8080', 'http://127.0.0.1:8080']) {
    browser.origin = origin
    expect((await browser.post('/api/accounts/acc_north/keys', {})).status).toBe(200)
  }
})

test('with a public address no other is taken', async () => {
  await world.remove()
  world = new PeopleWorld({ publicUrl: 'https://gateway.example' })
  const browser = await world.add('ann@example.com')
  expect((await browser.post('/api/accounts/acc_north/keys', {})).status).toBe(200)
  browser.origin = 'http://localhost:8080'
  expect((await browser.post('/api/accounts/acc_north/keys', {})).status).toBe(403)
})

test('an account that is not the person’s is 404 like one that is not there; a reader may only look', async () => {
  const owner = await world.add('ann@example.com')
  const reader = await world.add('bob@example.com', 'acc_north', 'reader')
  const other = await world.add('eve@example.com', 'acc_south')
  const nobody = world.browser()
  const get = '/api/accounts/acc_north/keys'
  expect((await owner.get(get)).body).toEqual({ by: 'person:ann@example.com', role: 'owner' })
  expect((await reader.get(get)).body).toEqual({ by: 'person:bob@example.com', role: 'reader' })
  const foreign = await other.get(get)
  const missing = await other.get('/api/accounts/acc_nowhere/keys')
  expect([foreign.status, foreign.body]).toEqual([404, missing.body])
  expect((await other.post(get, {})).status).toBe(404)
  expect((await nobody.get(get)).status).toBe(401)
  expect((await owner.post(get, {})).status).toBe(200)
  expect((await reader.post(get, {})).status).toBe(403)
})

test('sessions are listed and ended, one or all others; another’s cannot be', async () => {
  const first = await world.add('ann@example.com')
  const second = world.browser('cabinet', '192.0.2.7')
  await second.signIn('ann@example.com')
  const eve = await world.add('eve@example.com')
  type Listed = { id: string; is_current: boolean; address: string }
  const listed = async (): Promise<Listed[]> => (await first.get('/api/sessions')).body['data'] as Listed[]
  expect((await listed()).map(({ is_current, address }) => [is_current, address]).sort()).toEqual([
    [false, '192.0.2.7'],
    [true, '192.0.2.1'],
  ])
  const other = (await listed()).find(({ is_current }) => !is_current)?.id ?? ''
  expect((await eve.delete(`/api/sessions/${other}`)).status).toBe(404)
  expect((await first.delete(`/api/sessions/${other}`)).status).toBe(204)
  expect((await second.get('/api/sessions')).status).toBe(401)
  await second.signIn('ann@example.com')
  expect((await first.delete('/api/sessions')).body).toEqual({ ended: 1 })
  expect((await second.get('/api/sessions')).status).toBe(401)
  expect((await first.get('/api/sessions')).status).toBe(200)
  expect((await eve.get('/api/sessions')).status).toBe(200)
})

test('who ends his sessions on one listener keeps those on the other', async () => {
  const cabinet = await world.add('ann@example.com')
  await world.people.memberships.makeOperator((await world.people.known('ann@example.com')).id)
  const console = world.browser('console')
  const beside = world.browser('console', '192.0.2.7')
  for (const browser of [console, beside]) expect((await browser.signIn('ann@example.com')).status).toBe(200)
  const status = async (browser: typeof console): Promise<number> => (await browser.get('/api/sessions')).status
  expect((await cabinet.delete('/api/sessions')).body).toEqual({ ended: 0 })
  expect([await status(cabinet), await status(console), await status(beside)]).toEqual([200, 200, 200])
  expect((await console.delete('/api/sessions')).body).toEqual({ ended: 1 })
  expect([await status(cabinet), await status(console), await status(beside)]).toEqual([200, 200, 401])
  const [{ id = '' } = {}] = (await console.get('/api/sessions')).body['data'] as { id: string }[]
  expect((await cabinet.delete(`/api/sessions/${id}`)).status).toBe(404)
  expect(await status(console)).toBe(200)
})

test('a removal by another process is in force with the next request', async () => {
  const ann = await world.add('ann@example.com')
  const elsewhere = world.open()
  expect(await elsewhere.memberships.remove('ann@example.com', { accountId: 'acc_south' })).toBe('none')
  expect((await ann.get('/api/sessions')).status).toBe(200)
  expect(await elsewhere.memberships.remove('ann@example.com', { accountId: 'acc_north' })).toBe('removed')
  expect((await ann.get('/api/sessions')).status).toBe(401)
  await ann.signIn('ann@example.com')
  expect((await ann.get('/api/accounts/acc_north/keys')).status).toBe(404)
  expect(await elsewhere.memberships.remove('ann@example.com', 'all')).toBe('removed')
  expect((await ann.get('/api/me')).body['person']).toBeNull()
  expect((await ann.signIn('ann@example.com')).status).toBe(401)
  await elsewhere.close()
})

test('a cookie that was tampered with is nobody’s', async () => {
  const ann = await world.add('ann@example.com')
  const [[name, value] = ['', '']] = [...ann.cookies]
  for (const forged of [
    '',
    '.',
    value.slice(0, -4),
    value.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    value.split('.')[0] ?? '',
    '%',
    `${value}x`,
    '%E0%A4%A',
  ]) {
    ann.cookies.set(name, forged)
    expect([forged, (await ann.get('/api/sessions')).status]).toEqual([forged, 401])
  }
})

test('a request of the wrong shape is told so in words, with its field', async () => {
  const browser = world.browser()
  const { status, body } = await browser.post('/auth/invite', { token: 'x', password: 'short' })
  expect([status, body]).toEqual([400, { error: { message: 'A password has 10 to 128 characters', field: 'password' } }])
})
