/** Who came in by a link alone sets a first password, once, soon after signing in, and signs in with it. Rules: pages.md "Sign-in routes". */

import { afterEach, expect, test } from 'bun:test'
import type { Listener } from '../../../src/people/origins.ts'
import { type Browser, PASSWORD, PEOPLE_START, PeopleWorld } from '../../support/people.ts'

const DAY_MS = 86_400_000

let world: PeopleWorld
afterEach(() => world.remove())

/** Somebody without a password, who came in by a link. */
async function byLink(listener: Listener): Promise<Browser> {
  const { people } = world
  const person = await people.known('ann@example.com')
  await people.memberships.join(person.id, { accountId: 'acc_north', role: 'owner' })
  await people.memberships.makeOperator(person.id)
  const browser = world.browser(listener)
  const token = (await people.signInLink(listener, person)).split('/').at(-1)
  expect((await browser.post('/auth/link', { token })).status).toBe(200)
  return browser
}

test('a first password is set on either listener, signs in, and is no longer the first', async () => {
  for (const listener of ['cabinet', 'console'] as const) {
    world = new PeopleWorld()
    const browser = await byLink(listener)
    expect((await browser.get('/api/me')).body).toMatchObject({ person: { has_password: false } })
    expect((await browser.post('/auth/first-password', { password: PASSWORD })).status).toBe(204)
    expect((await browser.get('/api/me')).body).toMatchObject({ person: { has_password: true } })
    expect((await world.browser(listener).signIn('ann@example.com')).status).toBe(200)
    const again = await browser.post('/auth/first-password', { password: 'another good one' })
    expect([again.status, again.body]).toMatchObject([409, { error: { message: expect.stringContaining('already') } }])
    expect((await world.browser(listener).signIn('ann@example.com', 'another good one')).status).toBe(401)
    if (listener === 'cabinet') await world.remove()
  }
})

test('of two pages at once one sets it', async () => {
  world = new PeopleWorld()
  const browser = await byLink('cabinet')
  const passwords = [PASSWORD, 'another good one']
  const statuses = await Promise.all(passwords.map(async (password) => (await browser.post('/auth/first-password', { password })).status))
  expect(statuses.toSorted()).toEqual([204, 409])
  const good = passwords[statuses.indexOf(204)] ?? ''
  expect((await world.browser().signIn('ann@example.com', good)).status).toBe(200)
})

test('a session that is older than a day, nobody, a foreign page and a short password set none', async () => {
  world = new PeopleWorld()
  const browser = await byLink('cabinet')
  const status = async (from: Browser, password = PASSWORD): Promise<number> =>
    (await from.post('/auth/first-password', { password })).status
  expect(await status(browser, 'short')).toBe(400)
  expect(await status(world.browser())).toBe(401)
  browser.origin = 'https://elsewhere.example'
  expect(await status(browser)).toBe(403)
  browser.origin = browser.base
  world.now = PEOPLE_START + DAY_MS
  const late = await browser.post('/auth/first-password', { password: PASSWORD })
  expect([late.status, late.body]).toMatchObject([403, { error: { message: expect.stringContaining('Sign in anew') } }])
  expect((await browser.get('/api/me')).body).toMatchObject({ person: { has_password: false } })
  world.now -= 1
  expect(await status(browser)).toBe(204)
})
