/** With mail set up people come in by it: whoever reads the mail owns the address, and nobody learns from an answer which addresses are known. */

import { afterEach, expect, test } from 'bun:test'
import { PASSWORD, PeopleWorld } from '../../support/people.ts'

let world: PeopleWorld
afterEach(() => world.remove())

const tokenOf = (text = ''): string => /\/([\w-]{24,43})$/m.exec(text)?.[1] ?? ''

test('a mailed link signs in; an unknown address gets the same answer and no mail', async () => {
  world = new PeopleWorld({ publicUrl: 'https://gateway.example', sendsMail: true })
  await world.add('ann@example.com')
  const browser = world.browser()
  const forged = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
  const known = await browser.send('POST', '/auth/mail-link', { email: 'Ann@example.com' }, forged)
  const unknown = await browser.post('/auth/mail-link', { email: 'nobody@example.com' })
  expect([known.status, known.body]).toEqual([202, { sent: true }])
  expect([unknown.status, unknown.body]).toEqual([known.status, known.body])
  expect(world.mails.map(({ to }) => to)).toEqual(['ann@example.com'])
  expect(world.mails[0]?.text).toContain('https://gateway.example/cabinet/link/')
  expect(world.mails[0]?.text).not.toContain('evil')
  expect((await browser.post('/auth/link', { token: tokenOf(world.mails[0]?.text) })).status).toBe(200)
  expect((await world.browser('console').post('/auth/mail-link', { email: 'ann@example.com' })).status).toBe(202)
  expect(world.mails).toHaveLength(1)
})

test('a forgotten password is set anew by a mailed link', async () => {
  world = new PeopleWorld({ sendsMail: true })
  world.now = Date.now()
  await world.add('ann@example.com')
  const browser = world.browser()
  const answers = [
    await browser.post('/auth/request-password-reset', { email: 'ann@example.com' }),
    await browser.post('/auth/request-password-reset', { email: 'nobody@example.com' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers[0]?.body).toEqual(answers[1]?.body as Record<string, unknown>)
  expect(world.mails.map(({ to }) => to)).toEqual(['ann@example.com'])
  expect(world.mails[0]?.text).toContain('http://localhost:8080/cabinet/reset/')
  const token = tokenOf(world.mails[0]?.text)
  expect((await browser.post('/auth/reset-password', { token, newPassword: 'a new and good one' })).status).toBe(200)
  expect((await browser.signIn('ann@example.com', 'a new and good one')).status).toBe(200)
})

test('an address gets one mail, then one after a minute, two, four, up to an hour, whoever asks for how many; a quiet while begins anew', async () => {
  world = new PeopleWorld({ sendsMail: true })
  await world.add('ann@example.com')
  const mailedAt: number[] = []
  for (let minute = 0; minute < 24 * 60; minute++) {
    const before = world.mails.length
    await world.browser('cabinet', `203.0.113.${minute}`).post('/auth/mail-link', { email: 'ann@example.com' })
    if (world.mails.length > before) mailedAt.push(minute)
    world.now += 60_000
  }
  expect(mailedAt.slice(0, 9)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183])
  expect(mailedAt.length).toBeLessThan(32)
  world.now += 6 * 3_600_000
  const asked = async (path: string): Promise<number> => {
    const before = world.mails.length
    await world.browser('cabinet', '198.51.100.1').post(path, { email: 'ann@example.com' })
    return world.mails.length - before
  }
  expect([await asked('/auth/mail-link'), await asked('/auth/mail-link')]).toEqual([1, 0])
  // Nobody holds up the one kind by asking for the other.
  expect(await asked('/auth/request-password-reset')).toBe(1)
  // A day's minutes are 1,440 requests, which take seconds on a busy machine.
}, 60_000)

test('nothing is looked up or written before the answer, so that its time tells nothing', async () => {
  world = new PeopleWorld({ sendsMail: true, signUp: 'open' })
  await world.add('ann@example.com')
  const behind: (() => unknown)[] = []
  world.people.later = (work) => void behind.push(work)
  const before = await world.written()
  for (const path of ['/auth/mail-link', '/auth/request-password-reset', '/auth/sign-up'])
    for (const email of ['ann@example.com', 'nobody@example.com']) {
      const { status } = await world.browser('cabinet', `192.0.2.${behind.length}`).post(path, { email })
      expect([path, email, status]).toEqual([path, email, path === '/auth/request-password-reset' ? 200 : 202])
    }
  expect([world.mails.length, behind.length]).toEqual([0, 6])
  expect(await world.written()).toEqual(before)
  for (const work of behind) await work()
  expect(world.mails.map(({ to }) => to).sort()).toEqual(['ann@example.com', 'ann@example.com', 'ann@example.com', 'nobody@example.com'])
})

test('whoever asks again and again for a new account fills nothing: what is not mailed is not made', async () => {
  world = new PeopleWorld({ sendsMail: true, signUp: 'open' })
  for (let n = 0; n < 20; n++) await world.browser('cabinet', `203.0.113.${n}`).post('/auth/sign-up', { email: 'new@example.com' })
  expect([world.mails.length, (await world.people.links.invitations()).length]).toEqual([1, 1])
})

test('a sign-up is a mail: the link makes the account, and a known address only hears of it', async () => {
  world = new PeopleWorld({ sendsMail: true, signUp: 'open' })
  await world.add('ann@example.com')
  const browser = world.browser('cabinet', '192.0.2.8')
  const known = await browser.post('/auth/sign-up', { email: 'ann@example.com', password: 'the password of eve' })
  const fresh = await browser.post('/auth/sign-up', { email: 'bob@example.com' })
  expect([fresh.status, fresh.body]).toEqual([202, { sent: true }])
  expect([known.status, known.body]).toEqual([fresh.status, fresh.body])
  expect(world.mails.map(({ to }) => to)).toEqual(['ann@example.com', 'bob@example.com'])
  expect(world.mails[0]?.text).not.toContain('/invite/')
  expect((await world.browser().signIn('ann@example.com', 'the password of eve')).status).toBe(401)
  expect(world.made).toEqual([])
  const token = tokenOf(world.mails[1]?.text)
  expect((await browser.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
  expect(world.made).toMatchObject([{ name: 'bob@example.com' }])
  expect((await browser.get('/api/me')).body['accounts']).toMatchObject([{ id: world.made[0]?.accountId, role: 'owner' }])
})

test('without mail nobody is told that there is a link on its way', async () => {
  world = new PeopleWorld()
  await world.add('ann@example.com')
  const browser = world.browser()
  expect((await browser.post('/auth/mail-link', { email: 'ann@example.com' })).status).toBe(404)
  expect((await browser.post('/auth/request-password-reset', { email: 'ann@example.com' })).status).toBe(400)
})

test('however many addresses it comes from, so many sign up a minute, so many at once', async () => {
  world = new PeopleWorld({ sendsMail: true, signUp: 'open' })
  const signUp = async (n: number): Promise<number> =>
    (await world.browser('cabinet', `2001:db8:${n}::/64`).post('/auth/sign-up', { email: `new-${n}@example.com` })).status
  const statuses: number[] = []
  for (let n = 0; n < 120; n++) statuses.push(await signUp(n))
  expect([statuses.filter((status) => status === 202).length, statuses.at(-1)]).toEqual([100, 503])
  expect(await world.people.links.invitations()).toHaveLength(100)
  world.now += 60_000
  let later = 0
  for (let n = 200; n < 240; n++) if ((await signUp(n)) === 202) later++
  expect(later).toBe(30)
})
