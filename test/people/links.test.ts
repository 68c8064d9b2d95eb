/** An invitation has its effect once and for whom it was meant; signing up makes one account, whatever dies in between. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { emailOf } from '../../src/people/memberships.ts'
import { PASSWORD, PeopleWorld } from '../support/people.ts'

let world: PeopleWorld
beforeEach(() => {
  world = new PeopleWorld()
})
afterEach(() => world.remove())

const NORTH = { accountId: 'acc_north', role: 'owner' } as const
const SOUTH = { accountId: 'acc_south', role: 'reader' } as const

test('of fifty who follow one invitation at once, one comes in', async () => {
  const token = await world.people.links.invite('ann@example.com', NORTH, 'os:test')
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      world.browser('cabinet', `192.0.2.${index}`).post('/auth/invite', { token, password: `password number ${index}` }),
    ),
  )
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.every((status) => [200, 410].includes(status))).toBe(true)
  expect(await world.people.memberships.list()).toHaveLength(1)
}, 180_000)

test('an invitation ends after 72 hours, and when it is withdrawn', async () => {
  const { links, memberships } = world.people
  const late = await links.invite('ann@example.com', NORTH, 'os:test')
  world.now += 72 * 3_600_000 - 1
  expect((await links.invitation(late))?.email).toBe('ann@example.com')
  world.now += 1
  const withdrawn = await links.invite('bob@example.com', NORTH, 'os:test')
  expect(await memberships.remove('bob@example.com', { accountId: 'acc_north' })).toBe('removed')
  for (const token of [late, withdrawn, 'nothing'])
    expect((await world.browser().post('/auth/invite', { token, password: PASSWORD })).status).toBe(410)
  expect(await memberships.list()).toEqual([])
})

test('an invitation that was not for the console does not open it, and the other way round', async () => {
  const { links, memberships } = world.people
  const toAccount = await links.invite('ann@example.com', NORTH, 'os:test')
  const toConsole = await links.invite('ann@example.com', null, 'os:test')
  expect((await world.browser('console').post('/auth/invite', { token: toAccount, password: PASSWORD })).status).toBe(410)
  expect((await world.browser('cabinet').post('/auth/invite', { token: toConsole, password: PASSWORD })).status).toBe(410)
  const operator = world.browser('console')
  expect((await operator.post('/auth/invite', { token: toConsole, password: PASSWORD })).status).toBe(200)
  expect((await operator.get('/api/me')).body['person']).toMatchObject({ email: 'ann@example.com' })
  expect(await memberships.list()).toMatchObject([{ isOperator: true, memberships: [] }])
})

test('whoever has a way in must use it: an invitation sets nobody’s password anew', async () => {
  const ann = await world.add('ann@example.com')
  const eve = await world.add('eve@example.com', 'acc_eve')
  const token = await world.people.links.invite('ann@example.com', SOUTH, 'person:eve@example.com')
  expect((await world.browser().get(`/api/invitations/${token}`)).body).toMatchObject({
    needs: 'sign_in',
    account_id: 'acc_south',
    account_name: 'name of acc_south',
    invited_by: 'eve@example.com',
    role: 'reader',
  })
  for (const by of ['os:root', 'person:ann@example.com']) {
    const other = await world.people.links.invite('ann@example.com', SOUTH, by)
    expect((await world.browser().get(`/api/invitations/${other}`)).body).toMatchObject({ invited_by: null })
  }
  for (const browser of [eve, world.browser()]) {
    const answer = await browser.post('/auth/invite', { token, password: 'the password of eve' })
    expect(answer.status).toBe(401)
  }
  expect((await world.browser().signIn('ann@example.com', 'the password of eve')).status).toBe(401)
  expect((await ann.get(`/api/invitations/${token}`)).body['needs']).toBe('nothing')
  expect((await ann.post('/auth/invite', { token })).status).toBe(200)
  expect(await world.people.memberships.ofPerson((await world.people.known('ann@example.com')).id)).toEqual([NORTH, SOUTH])
  expect((await world.browser().signIn('ann@example.com')).status).toBe(200)
})

test('the secret of a link is nowhere in the store', async () => {
  const token = await world.people.links.invite('ann@example.com', NORTH, 'os:test')
  const link = await world.people.links.signIn('cabinet', (await world.people.known('ann@example.com')).id)
  const kept = (await world.written()).join('\n')
  for (const secret of [token, link]) {
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(kept.includes(secret)).toBe(false)
    expect(kept.includes(Buffer.from(secret, 'base64url').toString('hex'))).toBe(false)
  }
})

test('nobody signs up where it is closed, nor at the console', async () => {
  const wanted = { email: 'ann@example.com', password: PASSWORD }
  expect((await world.browser().post('/auth/sign-up', wanted)).status).toBe(404)
  await world.remove()
  world = new PeopleWorld({ signUp: 'open' })
  expect((await world.browser('console').post('/auth/sign-up', wanted)).status).toBe(404)
  expect(await world.people.memberships.list()).toEqual([])
})

test('a sign-up makes one account without money, of which the person is the owner', async () => {
  await world.remove()
  world = new PeopleWorld({ signUp: 'open' })
  const browser = world.browser()
  expect((await browser.post('/auth/sign-up', { email: 'Ann@example.com', password: PASSWORD })).status).toBe(200)
  expect(world.made).toEqual([{ accountId: 'acc_1', name: 'ann@example.com' }])
  expect((await browser.get('/api/me')).body).toMatchObject({ accounts: [{ id: 'acc_1', role: 'owner' }], is_complete: true })
  expect((await world.browser().post('/auth/sign-up', { email: 'ann@example.com', password: 'another password' })).status).toBe(409)
  expect(world.made).toHaveLength(1)
})

test('a sign-up that ended before the ledger knew of it is finished by the next look, under the same id', async () => {
  await world.remove()
  world = new PeopleWorld({ signUp: 'open' })
  world.isLedgerUp = false
  expect((await world.browser().post('/auth/sign-up', { email: 'ann@example.com', password: PASSWORD })).status).toBe(503)
  const browser = world.browser()
  expect((await browser.signIn('ann@example.com')).status).toBe(200)
  expect((await browser.get('/api/me')).body).toMatchObject({ accounts: [], is_complete: false })
  expect((await browser.get('/api/accounts/acc_1/keys')).status).toBe(404)
  world.isLedgerUp = true
  for (let look = 0; look < 2; look++)
    expect((await browser.get('/api/me')).body).toMatchObject({ accounts: [{ id: 'acc_1' }], is_complete: true })
  expect(world.made).toEqual([{ accountId: 'acc_1', name: 'ann@example.com' }])
})

test('a link to a new password works once, ends every session, and nobody else’s', async () => {
  // better-auth has the real clock.
  world.now = Date.now()
  const ann = await world.add('ann@example.com')
  const bob = await world.add('bob@example.com')
  const token = await world.people.links.reset((await world.people.known('ann@example.com')).id)
  const browser = world.browser()
  expect((await browser.post('/auth/reset-password', { token, newPassword: 'short' })).status).toBe(400)
  expect((await browser.post('/auth/reset-password', { token, newPassword: 'a new and good one' })).status).toBe(200)
  expect((await browser.post('/auth/reset-password', { token, newPassword: 'a second good one' })).status).toBe(400)
  expect((await ann.get('/api/sessions')).status).toBe(401)
  expect((await bob.get('/api/sessions')).status).toBe(200)
  expect((await browser.signIn('ann@example.com')).status).toBe(401)
  expect((await browser.signIn('ann@example.com', 'a new and good one')).status).toBe(200)
})

test('a new password by link leaves nothing of what was set before: no passkey, no other link', async () => {
  world.now = Date.now()
  await world.add('ann@example.com')
  await world.add('bob@example.com')
  const { db, links } = world.people
  const [ann, bob] = [(await world.people.known('ann@example.com')).id, (await world.people.known('bob@example.com')).id]
  const addKey = `INSERT INTO passkey (id, "publicKey", "userId", "credentialID", counter, "deviceType", "backedUp")
    VALUES ($name, 'key', $person, $name, 0, 'singleDevice', 0)`
  for (const [name, person] of [
    ['of eve', ann],
    ['of bob', bob],
  ] as const)
    await db.run(addKey, { name, person })
  const [token, second, third] = [await links.reset(ann), await links.reset(ann), await links.reset(bob)]
  const [link, other] = [await links.signIn('cabinet', ann), await links.signIn('cabinet', bob)]
  const browser = world.browser()
  const reset = (of: string) => browser.post('/auth/reset-password', { token: of, newPassword: 'a new and good one' })
  expect((await reset(token)).status).toBe(200)
  expect((await reset(second)).status).toBe(400)
  expect((await browser.post('/auth/link', { token: link })).status).toBe(410)
  expect(await db.all('SELECT "userId" FROM passkey')).toEqual([{ userId: bob }])
  expect((await browser.post('/auth/link', { token: other })).status).toBe(200)
  expect((await reset(third)).status).toBe(200)
})

test('an address is a name at a host, in ASCII: nothing looks like another’s, and nothing leads a mail server elsewhere', () => {
  for (const good of ['ann@example.com', 'a.b+c@sub.example.co', 'demo@localhost', "o'neil@example.com", 'x_y-z@1.example'])
    expect(emailOf(` ${good.toUpperCase()} `)).toBe(good)
  for (const bad of [
    'ann@[127.0.0.1]',
    'ann@example.com(1)',
    'аnn@example.com',
    'ann\u200b@example.com',
    'ann@ｅxample.com',
    'ann@exämple.com',
    'ann@example.com\r\nbcc: x@example.com',
    'a b@example.com',
    '"ann"@example.com',
    'ann@example..com',
    'ann@-example.com',
    'ann@@example.com',
    `${'a'.repeat(65)}@example.com`,
    `ann@${'a'.repeat(64)}.com`,
    '',
  ])
    expect([bad, emailOf(bad)]).toEqual([bad, undefined])
})

test('a name holds nothing that the terminal of who lists people would obey', async () => {
  const token = await world.people.links.invite('ann@example.com', NORTH, 'os:test')
  const accept = (name: string) => world.browser().post('/auth/invite', { token, password: PASSWORD, name })
  for (const name of ['\u001b[2J', 'a\nb', 'a\u009b1m', '\u0000'])
    expect([name, await accept(name)]).toMatchObject([name, { status: 400, body: { error: { field: 'name' } } }])
  expect((await accept('Änn O’Neil 安')).status).toBe(200)
})
