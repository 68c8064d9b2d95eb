/** The chats of an account on the pages: members link their own, owners remove every one, readers only theirs, operators see and remove all; others’ are nothing. Rules: pages.md "Telegram". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { BOT_NAME } from '../../support/fake-telegram.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { Browser } from '../../support/people.ts'
import { signIn } from '../../support/signed-in.ts'
import { until } from '../../support/until.ts'
import { ANN, BOB, BotWorld, NORTH } from '../bot/bot-world.ts'

let world: BotWorld
beforeEach(async () => {
  world = await BotWorld.start()
})
afterEach(() => world.end())

const at = (accountId = NORTH) => `/api/accounts/${accountId}/telegram`
const states = async () =>
  (await world.audit()).filter(({ action }) => action === 'setChat').map(({ actor, address, after }) => ({ actor, address, after }))
async function operator(): Promise<Browser> {
  const people = world.gateway.people()
  const person = await people.known('op@example.com')
  await people.memberships.makeOperator(person.id)
  const browser = new Browser({ handle: (request) => fetch(request) }, people.origins('console').base, 'console', '192.0.2.1')
  const token = (await people.signInLink('console', person)).split('/').at(-1)
  expect((await browser.post('/auth/link', { token })).status).toBe(200)
  return browser
}

test('a member gets a code with its link, by which the chat is linked, listed, and removed again', async () => {
  const ann = await signIn(world.gateway, 'ann@example.com', NORTH, 'owner')
  await until(
    async () =>
      (await ann.get(at())).body['bot'] !== null &&
      (await world.gateway.people().db.get('SELECT name FROM telegram_bots WHERE name <> $none', { none: '' })) !== undefined,
  )
  expect((await ann.get(at())).body).toEqual({ bot: { name: BOT_NAME }, data: [] })
  const made = await ann.post(`${at()}/code`, {})
  const code = String(made.body['code'])
  expect(made.body).toMatchObject({ link: `https://t.me/${BOT_NAME}?start=${code}`, code: expect.stringMatching(/^[0-9A-Z]{10}$/) })
  expect(made.headers.get('cache-control')).toBe('no-store')
  await world.telegram.ask(ANN, `/start ${code}`)
  const [chat] = (await ann.get(at())).body['data'] as Record<string, unknown>[]
  expect(chat).toMatchObject({ chat: String(ANN), name: '@user7001', email: 'ann@example.com', is_you: true, tells_alerts: false })
  expect((await ann.post(`${at()}/remove`, { chat: String(ANN) })).body).toEqual({ chat: String(ANN) })
  expect((await ann.post(`${at()}/remove`, { chat: String(ANN) })).status).toBe(404)
  expect((await world.telegram.ask(ANN, '/balance')).text).toContain('not linked')
  expect(await states()).toMatchObject([
    { actor: 'person:ann@example.com', address: '127.0.0.1', after: expect.anything() },
    { actor: 'person:ann@example.com', address: `telegram:${ANN}` },
  ])
})

test('a newer code takes the place of an older one of the same person, and one that is over links nothing', async () => {
  const { telegram, gateway } = world
  const ann = await signIn(gateway, 'ann@example.com', NORTH, 'owner')
  const code = async () => String((await ann.post(`${at()}/code`, {})).body['code'])
  const [older, newer] = [await code(), await code()]
  expect((await telegram.ask(ANN, `/start ${older}`)).text).toContain('not valid')
  await gateway.people().db.run('UPDATE telegram_codes SET expires_at = $now', { now: Date.now() - 1 })
  expect((await telegram.ask(ANN, `/start ${newer}`)).text).toContain('not valid')
  expect((await telegram.ask(ANN, `/start ${await code()}`)).text).toContain('linked to the account')
})

test('a reader links and removes the own chat, and no other; an owner removes both; a stranger sees nothing', async () => {
  const { gateway } = world
  await world.makeAccount('acc_south')
  const ann = await signIn(gateway, 'ann@example.com', NORTH, 'owner')
  const bob = await signIn(gateway, 'bob@example.com', NORTH, 'reader')
  const sue = await signIn(gateway, 'sue@example.com', 'acc_south', 'owner')
  await world.link(ANN, 'ann@example.com')
  expect((await bob.post(`${at()}/code`, {})).status).toBe(200)
  await world.link(BOB, 'bob@example.com', NORTH, 'reader')
  expect(await bob.post(`${at()}/remove`, { chat: String(ANN) })).toMatchObject({ status: 403 })
  for (const path of ['/code', '/remove']) expect((await sue.post(`${at()}${path}`, { chat: String(ANN) })).status).toBe(404)
  expect((await sue.get(at())).status).toBe(404)
  expect((await sue.post(`${at('acc_south')}/remove`, { chat: String(ANN) })).status).toBe(404)
  expect((await bob.post(`${at()}/remove`, { chat: 'x' })).status).toBe(400)
  expect((await bob.post(`${at()}/remove`, { chat: String(BOB) })).status).toBe(200)
  await world.link(BOB, 'bob@example.com', NORTH, 'reader')
  expect((await ann.post(`${at()}/remove`, { chat: String(BOB) })).status).toBe(200)
  expect((await ann.get(at())).body['data']).toMatchObject([{ chat: String(ANN) }])
})

test('a person links five chats, and a sixth when one is removed', async () => {
  for (let n = 0; n < 5; n++) expect((await world.link(8_000 + n, 'ann@example.com')).text).toContain('linked to the account')
  expect((await world.link(9_000, 'ann@example.com')).text).toContain('as many chats')
  await world.gateway.people().chats.remove(NORTH, 8_001)
  expect((await world.link(9_000, 'ann@example.com')).text).toContain('linked to the account')
})

test('operators see chats at their people, and remove one with a reason', async () => {
  await world.link(ANN, 'ann@example.com')
  const op = await operator()
  const people = (await op.get('/api/people')).body['data'] as { email: string; chats: unknown[] }[]
  expect(people.find(({ email }) => email === 'ann@example.com')?.chats).toEqual([
    { chat: String(ANN), name: '@user7001', account_id: NORTH },
  ])
  const removal = { chat: String(ANN), account_id: NORTH, reason: 'lost phone' }
  expect((await op.post('/api/people/chat/remove', removal)).body).toEqual({ chat: String(ANN) })
  expect((await op.post('/api/people/chat/remove', removal)).status).toBe(404)
  expect((await world.telegram.ask(ANN, '/balance')).text).toContain('not linked')
  const [line] = await world.audit()
  expect(line).toMatchObject({ action: 'setChat', target: NORTH, actor: 'person:op@example.com', reason: 'lost phone' })
})

test('without a bot there is nothing to link, and nothing is shown', async () => {
  await using gateway = await startTestGateway()
  await gateway.operate({ kind: 'createAccount', accountId: NORTH, name: '', topUp: null, now: Date.now() })
  const ann = await signIn(gateway, 'ann@example.com', NORTH, 'owner')
  expect((await ann.get(at())).body).toEqual({ bot: null, data: [] })
  expect((await ann.post(`${at()}/code`, {})).status).toBe(404)
})

test('an alert may tell the chats alone; no mail goes to an address that cannot exist', async () => {
  const { gateway, telegram } = world
  const ann = await signIn(gateway, 'ann@example.com', NORTH, 'owner')
  const body = { kind: 'balance_below', threshold_usd: '30', emails: [], webhook_ids: [] }
  const alerts = `/api/accounts/${NORTH}/alerts`
  expect((await ann.post(alerts, body)).status).toBe(400)
  await world.link(ANN, 'ann@example.com')
  await telegram.ask(ANN, '/alerts on')
  expect((await ann.get(alerts)).body['chats']).toBe(1)
  expect((await ann.post(alerts, body)).status).toBe(201)
  await until(() => telegram.messages(ANN).some(({ text }) => text.startsWith('Balance below $30.00')))
  await world.person('8.00ff@telegram.invalid')
  const mailed = await ann.post(alerts, { ...body, emails: ['8.00ff@telegram.invalid'] })
  expect(mailed.status).toBe(400)
})
