/** Links that are not there are counted by the client's address before the store is asked; whose link is there is never refused for it, nor is anyone elsewhere. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type Browser, PASSWORD, PeopleWorld } from '../../support/people.ts'

let world: PeopleWorld
let guesser: Browser
let asked: number
beforeEach(() => {
  world = new PeopleWorld()
  guesser = world.browser('cabinet', '203.0.113.5')
  asked = 0
  const { links } = world.people
  const invitation = links.invitation.bind(links)
  const follow = links.follow.bind(links)
  Object.assign(links, {
    invitation: (...given: Parameters<typeof invitation>) => {
      asked++
      return invitation(...given)
    },
    follow: (...given: Parameters<typeof follow>) => {
      asked++
      return follow(...given)
    },
  })
})
afterEach(() => world.remove())

const BURST = 120
const invite = (): Promise<string> => world.people.links.invite('ann@example.com', { accountId: 'acc_north', role: 'owner' }, 'os:test')
const look = (browser: Browser, token: string) => browser.get(`/api/invitations/${token}`)

test('an address that sends links which are not there is refused, before the store is asked, and comes back with time', async () => {
  const sends = [
    (token: string) => look(guesser, token),
    (token: string) => guesser.post('/auth/invite', { token, password: PASSWORD }),
    (token: string) => guesser.post('/auth/link', { token }),
  ]
  const answers = await Promise.all(Array.from({ length: BURST + 30 }, (_, n) => sends[n % sends.length]?.(`unknown-${n}`)))
  const count = (wanted: number): number => answers.filter((answer) => answer?.status === wanted).length
  expect([count(410), count(429), asked]).toEqual([BURST, 30, BURST])
  for (const send of sends) {
    const refused = await send('one more')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  }
  expect(asked).toBe(BURST)
  const token = await invite()
  expect((await look(world.browser(), token)).status).toBe(200)
  world.now += 1_000
  expect((await look(guesser, token)).status).toBe(200)
})

test('links that are there are not counted', async () => {
  const token = await invite()
  for (let n = 0; n < BURST + 30; n++) expect((await look(guesser, token)).status).toBe(200)
  expect((await guesser.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
})
