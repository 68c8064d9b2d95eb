/** Guessing passwords gets slow, finds no e-mails, and keeps nobody out. */

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { PeopleWorld } from '../../support/people.ts'

let world: PeopleWorld
beforeEach(async () => {
  world = new PeopleWorld()
  await world.add('ann@example.com')
})
afterEach(() => world.remove())

test('an address that fails is told to come back, later and later, at most after a minute', async () => {
  const guesser = world.browser('cabinet', '203.0.113.5')
  const waits: number[] = []
  for (let round = 0; round < 14; round++) {
    const { status } = await guesser.signIn(`somebody-${round}@example.com`, 'a wrong password')
    expect([round, status]).toEqual([round, 401])
    const refused = await guesser.signIn('ann@example.com')
    if (refused.status !== 429) continue
    const waitS = Number(refused.headers.get('retry-after'))
    waits.push(waitS)
    world.now += waitS * 1_000
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
})

test('guesses from everywhere delay a person by seconds and never refuse her', async () => {
  for (let guess = 0; guess < 40; guess++) {
    world.now += 1_000
    const answer = await world.browser('cabinet', `203.0.113.${guess}`).signIn('ann@example.com', 'a wrong password')
    expect(answer.status).toBe(401)
  }
  expect(world.slept.slice(0, 6)).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000])
  world.slept = []
  const ann = world.browser('cabinet', '192.0.2.99')
  expect((await ann.signIn('ann@example.com')).status).toBe(200)
  expect(world.slept).toEqual([4_000])
})

test('many guesses at once from one address are counted before any is answered', async () => {
  const guesser = world.browser('cabinet', '203.0.113.5')
  const answers = await Promise.all(Array.from({ length: 20 }, () => guesser.signIn('ann@example.com', 'a wrong password')))
  const count = (wanted: number): number => answers.filter(({ status }) => status === wanted).length
  expect([count(401), count(429)]).toEqual([5, 15])
})

test('a good sign-in in between pays for no guesses', async () => {
  const eve = await world.add('eve@example.com')
  eve.address = '203.0.113.5'
  let refused = 0
  for (let round = 0; round < 20; round++) {
    if ((await eve.signIn('ann@example.com', 'a wrong password')).status === 429) refused++
    await eve.signIn('eve@example.com')
  }
  expect(refused).toBeGreaterThan(10)
})

test('an e-mail that nobody has is answered like a wrong password, after the same work', async () => {
  const hash = spyOn(Bun.password, 'hash')
  const verify = spyOn(Bun.password, 'verify')
  const asked = async (email: string) => {
    const before = hash.mock.calls.length + verify.mock.calls.length
    const { status, body } = await world.browser('cabinet', `198.51.100.${email.length}`).signIn(email, 'a wrong password')
    return { status, body, hashed: hash.mock.calls.length + verify.mock.calls.length - before }
  }
  try {
    const refused = { status: 401, body: { error: { message: 'Invalid email or password' } }, hashed: 1 }
    expect(await asked('ann@example.com')).toEqual(refused)
    expect(await asked('nobody-at-all@example.com')).toEqual(refused)
  } finally {
    hash.mockRestore()
    verify.mockRestore()
  }
})

test('what nobody’s page would send is refused and is no alarm of ours', async () => {
  const { people } = world
  const answer = await people.identity('cabinet')
  for (const [type, body] of [
    ['application/json', '['.repeat(10_000)],
    ['application/json', ''],
    ['application/json', 'null'],
    ['application/json', '{"email":{"toString":1},"password":[]}'],
    ['text/plain', '{}'],
  ] as const) {
    const headers = { 'content-type': type, origin: people.origins('cabinet').base }
    const request = new Request(`${people.origins('cabinet').base}/cabinet/auth/sign-in/email`, { method: 'POST', headers, body })
    const { status } = await answer.answer(request)
    expect([body.slice(0, 10), status >= 400 && status < 500]).toEqual([body.slice(0, 10), true])
  }
  expect(world.bugs).toEqual([])
})

test('nobody fills the file or the loop with challenges: so many a minute and address, so many of all', async () => {
  const ask = async (address: string): Promise<number> =>
    (await world.browser('cabinet', address).get('/auth/passkey/generate-authenticate-options')).status
  const one: number[] = []
  for (let n = 0; n < 22; n++) one.push(await ask('203.0.113.5'))
  expect(one.map((status) => status === 200)).toEqual([...Array.from({ length: 20 }, () => true), false, false])
  expect(one.at(-1)).toBe(429)
  let made = 0
  for (let n = 0; n < 250; n++) if ((await ask(`198.51.100.${n}`)) === 200) made++
  expect(made).toBe(180)
  world.now += 60_000
  expect(await ask('203.0.113.5')).toBe(200)
})

test('what is over leaves the file with the next challenge', async () => {
  const { db } = world.people
  const count = async () => (await db.get<{ n: number }>('SELECT count(*) AS n FROM verification'))?.n
  const ask = () => world.browser().get('/auth/passkey/generate-authenticate-options')
  await ask()
  await ask()
  expect(await count()).toBe(2)
  await db.run('UPDATE verification SET "expiresAt" = \'2020-01-01T00:00:00.000Z\'')
  await ask()
  expect(await count()).toBe(1)
})
