/** Whoever has a password or a link comes in, on the listener that it is for and nowhere else, and the cookie is as safe as the address allows. */

import { afterEach, expect, test } from 'bun:test'
import { PASSWORD, PeopleWorld, type PeopleWorldOptions } from '../../support/people.ts'

let world: PeopleWorld
const begin = (options: PeopleWorldOptions = {}): PeopleWorld => {
  world = new PeopleWorld(options)
  return world
}
afterEach(() => world.remove())

test('an invited person sets a password, is signed in, and signs in again with it', async () => {
  const { people } = begin()
  const first = await world.add('ann@example.com')
  expect((await first.get('/api/me')).body).toMatchObject({
    person: { email: 'ann@example.com', has_password: true },
    accounts: [{ id: 'acc_north', name: 'name of acc_north', role: 'owner' }],
    ways: { password: true, passkey: true, mail: false },
    sign_up: 'closed',
  })
  const again = world.browser()
  const answer = await again.signIn('  Ann@Example.com '.trim())
  expect(answer.status).toBe(200)
  expect(JSON.stringify(answer.body)).not.toContain('token')
  expect((await again.get('/api/me')).body['person']).toMatchObject({ email: 'ann@example.com' })
  expect((await people.sessions.list('cabinet', (await people.known('ann@example.com')).id)).map(({ address }) => address)).toEqual([
    '192.0.2.1',
    '192.0.2.1',
  ])
  expect(world.bugs).toEqual([])
})

test('a cookie of better-auth is read by us, and one of ours is known to better-auth', async () => {
  // better-auth asks the machine's clock whether a session has ended.
  begin().now = Date.now()
  const ours = await world.add('ann@example.com')
  const changed = await ours.post('/auth/change-password', { currentPassword: PASSWORD, newPassword: 'another good one' })
  expect(changed.status).toBe(200)
  const theirs = world.browser()
  expect((await theirs.signIn('ann@example.com')).status).toBe(401)
  expect((await theirs.signIn('ann@example.com', 'another good one')).status).toBe(200)
  expect((await theirs.get('/api/me')).body['person']).not.toBeNull()
  expect((await theirs.post('/auth/sign-out', {})).status).toBe(200)
  expect((await theirs.get('/api/me')).body['person']).toBeNull()
})

test('on plain http the cookie has neither prefix nor Secure, on https both; it is HttpOnly and SameSite everywhere', async () => {
  for (const [publicUrl, name, isSecure] of [
    [undefined, 'tollgate-cabinet', false],
    ['https://gateway.example', '__Host-tollgate-cabinet', true],
  ] as const) {
    begin(publicUrl === undefined ? {} : { publicUrl })
    const invited = await world.add('ann@example.com')
    const signedIn = world.browser()
    await signedIn.signIn('ann@example.com')
    for (const { setCookie, cookies } of [invited, signedIn]) {
      expect([...cookies.keys()]).toEqual([name])
      const attributes = setCookie
        .split('; ')
        .slice(1)
        .map((one) => one.toLowerCase())
      expect(attributes).toContain('httponly')
      expect(attributes).toContain('samesite=lax')
      expect(attributes).toContain('path=/')
      expect(attributes.some((one) => one.startsWith('domain'))).toBe(false)
      expect(attributes.includes('secure')).toBe(isSecure)
    }
    if (publicUrl === undefined) await world.remove()
  }
})

test('a session lives on its listener only, under whatever name its cookie comes', async () => {
  const { people } = begin()
  const cabinet = await world.add('ann@example.com')
  await people.memberships.makeOperator((await people.known('ann@example.com')).id)
  const console = world.browser('console')
  expect((await console.signIn('ann@example.com')).status).toBe(200)
  expect((await console.get('/api/me')).body['person']).not.toBeNull()
  for (const [from, to] of [
    [cabinet, world.browser('console')],
    [console, world.browser('cabinet')],
  ] as const) {
    const [value = ''] = from.cookies.values()
    for (const name of ['tollgate-cabinet', 'tollgate-console', '__Host-tollgate-cabinet', '__Host-tollgate-console'])
      to.cookies.set(name, value)
    expect((await to.get('/api/me')).body['person']).toBeNull()
    expect((await to.get('/api/sessions')).status).toBe(401)
    expect((await to.post('/auth/change-password', { currentPassword: PASSWORD, newPassword: 'taken over by it' })).status).toBe(401)
  }
})

test('the console takes operators only, and asks again with every request', async () => {
  const { people } = begin()
  await world.add('ann@example.com')
  const console = world.browser('console')
  const refused = await console.signIn('ann@example.com')
  expect(refused.status).toBe(401)
  expect(console.cookies.size).toBe(0)
  await people.memberships.makeOperator((await people.known('ann@example.com')).id)
  await console.signIn('ann@example.com')
  expect((await console.get('/api/sessions')).status).toBe(200)
  await people.db.run('DELETE FROM operators')
  expect((await console.get('/api/sessions')).status).toBe(401)
})

test('a sign-in link works once, within the hour, on its listener', async () => {
  const { people } = begin()
  const person = await people.known('ann@example.com')
  const tokenOf = (link: string): string => link.split('/').at(-1) ?? ''
  const link = await people.signInLink('cabinet', person)
  expect(link).toStartWith('http://localhost:8080/cabinet/link/')
  const browser = world.browser()
  expect((await world.browser('console').post('/auth/link', { token: tokenOf(link) })).status).toBe(410)
  expect((await browser.post('/auth/link', { token: tokenOf(link) })).status).toBe(200)
  expect((await browser.get('/api/me')).body['person']).toMatchObject({ id: person.id })
  expect((await browser.post('/auth/link', { token: tokenOf(link) })).status).toBe(410)
  const late = tokenOf(await people.signInLink('cabinet', person))
  world.now += 3_600_000
  expect((await browser.post('/auth/link', { token: late })).status).toBe(410)
  const toConsole = tokenOf(await people.signInLink('console', person))
  expect((await world.browser('console').post('/auth/link', { token: toConsole })).status).toBe(410)
})

test('a session ends by itself, a fortnight after the sign-in in the cabinet and a day after it in the console', async () => {
  const { people } = begin()
  const cabinet = await world.add('ann@example.com')
  await people.memberships.makeOperator((await people.known('ann@example.com')).id)
  const console = world.browser('console')
  await console.post('/auth/link', { token: await people.links.signIn('console', (await people.known('ann@example.com')).id) })
  const isIn = async (browser: typeof cabinet): Promise<boolean> => (await browser.get('/api/me')).body['person'] !== null
  world.now += 86_400_000 - 1
  expect([await isIn(cabinet), await isIn(console)]).toEqual([true, true])
  world.now += 1
  expect([await isIn(cabinet), await isIn(console)]).toEqual([true, false])
  world.now += 13 * 86_400_000
  expect(await isIn(cabinet)).toBe(false)
})

test('what better-auth offers beside our ways does not exist', async () => {
  begin()
  const browser = await world.add('ann@example.com')
  for (const [method, path] of [
    ['POST', '/auth/sign-up/email'],
    ['GET', '/auth/get-session'],
    ['GET', '/auth/list-sessions'],
    ['POST', '/auth/update-user'],
    ['POST', '/auth/delete-user'],
    ['POST', '/auth/change-email'],
    ['POST', '/auth/sign-in/social'],
    ['GET', '/auth/sign-in/email'],
    ['GET', '/auth/ok'],
    ['GET', '/auth/error'],
    ['POST', '/auth//sign-up/email'],
    ['POST', '/auth/sign-in/email/'],
  ] as const) {
    const { status } = await browser.send(method, path, method === 'POST' ? {} : undefined)
    expect([path, status]).toEqual([path, 404])
  }
})

test('a link and an error never repeat the host that a request names', async () => {
  const { people } = begin({ publicUrl: 'https://gateway.example' })
  const browser = await world.add('ann@example.com')
  const forged = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }
  const { body, status } = await browser.send('POST', '/auth/sign-in/email', { email: 'ann@example.com', password: PASSWORD }, forged)
  expect(status).toBe(200)
  expect(JSON.stringify(body)).not.toContain('evil')
  expect(browser.setCookie).not.toContain('evil')
  expect(await people.signInLink('cabinet', await people.known('ann@example.com'))).toStartWith('https://gateway.example/cabinet/link/')
})

test('a person has fifty sessions at most on a listener: the oldest end, and nobody else’s', async () => {
  world = new PeopleWorld()
  const first = await world.add('ann@example.com')
  const bob = await world.add('bob@example.com')
  const { people } = world
  const { id } = await people.known('ann@example.com')
  for (let n = 0; n < 60; n++) await people.sessions.start('cabinet', id, { address: '', userAgent: '' }, false)
  const last = world.browser()
  expect((await last.signIn('ann@example.com')).status).toBe(200)
  expect(await people.sessions.list('cabinet', id)).toHaveLength(50)
  expect((await last.get('/api/sessions')).status).toBe(200)
  expect((await first.get('/api/sessions')).status).toBe(401)
  expect((await bob.get('/api/sessions')).status).toBe(200)
})
