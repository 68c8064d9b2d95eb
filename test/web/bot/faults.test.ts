/** Whatever dies between Telegram and the ledger, each act of a chat is done once and none is lost; one chat's flood is its own, and the gateway notices nothing of it. Rules: pages.md "Telegram". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type FakeStripe, SECRETS, startFakeStripe } from '../../support/fake-stripe.ts'
import { BOT_TOKEN, FLOOD_S } from '../../support/fake-telegram.ts'
import { usd } from '../../support/ledger.ts'
import { until } from '../../support/until.ts'
import { ANN, BOB, BotWorld } from './bot-world.ts'

let world: BotWorld
let stripe: FakeStripe
beforeEach(async () => {
  stripe = startFakeStripe()
  const payments = { text: undefined, stripe: { ...SECRETS, minPicos: usd('5'), maxPicos: usd('500') } }
  world = await BotWorld.start({ signUp: 'open', payments, stripeAddress: stripe.address })
})
afterEach(async () => {
  expect(world.gateway.verify()).toEqual([])
  const log = JSON.stringify(world.gateway.logLines())
  await world.end()
  stripe.stop()
  expect(log).not.toContain(BOT_TOKEN.slice(10))
})

const actions = async (): Promise<readonly string[]> =>
  (await world.audit()).map(({ action }) => action).filter((action) => action.endsWith('Key'))
const waiting = async (): Promise<number> =>
  (await world.gateway.people().db.get<{ n: number }>('SELECT count(*) AS n FROM telegram_updates'))?.n ?? -1
/** The answer to a message of Ann's is ready, and the network dies before it is sent. */
function dieWithAnswer(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  world.telegram.onSend = () => {
    world.telegram.onSend = () => undefined
    // What waits in a dead network is answered by nothing.
    world.telegram.die().then(resolve, reject)
    return new Promise(() => undefined)
  }
  return promise
}
const sentTo = (chat: number): number =>
  world.telegram.calls.filter(({ method, payload }) => method === 'sendMessage' && Number(payload['chat_id']) === chat).length
const alarms = (): readonly unknown[] => world.gateway.logLines().flatMap(({ alarm }) => (alarm === undefined ? [] : [alarm]))

test('a key that was made before the process died is not made again by the next one, which shows its secret', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await telegram.ask(ANN, '/keys')
  await telegram.tap(ANN, 'New key')
  const dead = dieWithAnswer()
  telegram.write(ANN, 'laptop')
  await dead
  expect((await world.keys()).map(({ name }) => name)).toEqual(['laptop'])
  expect(await waiting()).toBe(1)
  const before = telegram.messages(ANN).length
  await world.restart()
  telegram.live()
  await until(() => telegram.messages(ANN).length > before)
  expect(telegram.last(ANN)?.text).toStartWith('The key laptop is made.')
  expect(await world.isTaken(telegram.last(ANN)?.code ?? '')).toBeTrue()
  expect(await actions()).toEqual(['createKey'])
  await until(async () => (await waiting()) === 0)
  // What the bot had asked is answered, and not asked again.
  expect((await telegram.ask(ANN, 'desktop')).text).toContain('/balance')
})

test('a rotation that was done before the process died is not done again, and its secret is the one that works', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await world.newKey(ANN, 'laptop')
  await world.openKey(ANN, 'laptop')
  await telegram.tap(ANN, 'Rotate')
  const dead = dieWithAnswer()
  telegram.press(ANN, 'The old secret ends now')
  await dead
  const before = telegram.messages(ANN).length
  await world.restart()
  telegram.live()
  await until(() => telegram.messages(ANN).length > before)
  expect(telegram.last(ANN)?.text).toStartWith('The new secret')
  expect(await world.isTaken(telegram.last(ANN)?.code ?? '')).toBeTrue()
  expect(await actions()).toEqual(['rotateKey', 'createKey'])
})

test('who has the store can make no secret of it, while an update waits or after', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await telegram.ask(ANN, '/keys')
  await telegram.tap(ANN, 'New key')
  const dead = dieWithAnswer()
  telegram.write(ANN, 'laptop')
  await dead
  const rows = JSON.stringify(await world.gateway.people().db.all('SELECT body FROM telegram_updates'))
  telegram.live()
  await until(() => telegram.last(ANN)?.code.startsWith('sk-') === true)
  expect(rows).not.toContain(telegram.last(ANN)?.code ?? '')
  await until(async () => (await waiting()) === 0)
})

test('what is sent while nothing runs is answered in its order by the next process', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await world.gateway.drain()
  const before = telegram.messages(ANN).length
  telegram.write(ANN, '/alerts')
  telegram.write(ANN, '/balance')
  telegram.write(ANN, '/help')
  await world.restart()
  await until(() => telegram.messages(ANN).length === before + 3)
  const texts = telegram
    .messages(ANN)
    .slice(before)
    .map(({ text }) => text.slice(0, 8))
  expect(texts).toEqual(['Alerts i', 'Balance:', '/balance'])
})

test('a dead network touches no request, and what was sent meanwhile is answered once it lives', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  const { code } = await world.newKey(ANN, 'laptop')
  await telegram.die()
  await until(() => gateway.logLines().some(({ notice }) => notice === 'Telegram does not answer'))
  const body = { model: 'sonnet', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  expect((await gateway.post('/v1/messages', code, body)).status).toBe(200)
  telegram.live()
  expect((await telegram.ask(ANN, '/balance')).text).toContain('Balance: $25.00\nLasts')
  expect(gateway.logLines().filter(({ notice }) => notice === 'Telegram does not answer')).toHaveLength(1)
  expect(alarms()).toEqual([])
})

test('a chat that Telegram slows down waits as long as it says, and no other chat does', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await world.link(BOB, 'bob@example.com')
  telegram.floods.set(ANN, 1)
  const before = telegram.messages(ANN).length
  const tries = sentTo(ANN)
  const slowedAt = performance.now()
  telegram.write(ANN, '/balance')
  await until(() => sentTo(ANN) === tries + 1)
  expect((await telegram.ask(BOB, '/balance')).text).toContain('$25.00')
  expect(telegram.messages(ANN).length).toBe(before)
  await until(() => telegram.messages(ANN).length === before + 1)
  expect(sentTo(ANN)).toBe(tries + 2)
  expect(performance.now() - slowedAt).toBeGreaterThanOrEqual(FLOOD_S * 1_000 - 100)
})

test('of a flood a chat is heard so often, and another chat is answered in the middle of it', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  await world.link(BOB, 'bob@example.com')
  for (let n = 0; n < 400; n++) telegram.write(ANN, '/help')
  telegram.write(BOB, '/balance')
  for (let n = 0; n < 400; n++) telegram.write(ANN, '/help')
  await until(() => telegram.last(BOB)?.text.startsWith('Balance') === true)
  await until(() => telegram.waiting === 0)
  await until(async () => (await waiting()) === 0)
  const metrics = await (await fetch(`${gateway.operatorUrl}/metrics`)).text()
  const dropped = Number(/tollgate_bot_updates_total\{result="dropped"\} (\d+)/.exec(metrics)?.[1])
  expect(dropped).toBeGreaterThan(700)
  expect(telegram.messages(ANN).length).toBeLessThan(60)
})

test('who has blocked the bot costs one try, and comes back', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  telegram.blocked.add(ANN)
  const tries = sentTo(ANN)
  telegram.write(ANN, '/balance')
  await until(async () => telegram.waiting === 0 && (await waiting()) === 0)
  expect(sentTo(ANN)).toBe(tries + 1)
  telegram.blocked.clear()
  expect((await telegram.ask(ANN, '/balance')).text).toContain('$25.00')
})

test('a stranger gets an account where sign-up is open: one, however often it is asked for and answered', async () => {
  const { telegram } = world
  const dead = dieWithAnswer()
  telegram.write(ANN, '/start')
  await dead
  await world.restart()
  telegram.live()
  await until(() => telegram.last(ANN)?.text.startsWith('This chat is linked to the account') === true)
  expect((await telegram.ask(ANN, '/start')).text).toContain('/balance')
  const people = await world.gateway.people().memberships.list()
  expect(people).toMatchObject([{ name: '@user7001', memberships: [{ role: 'owner' }] }])
  expect(people[0]?.email).toMatch(/^7001\.[0-9a-f]{12}@telegram\.invalid$/)
  expect((await telegram.ask(ANN, '/balance')).text).toContain('Balance: $0.00')
  expect((await world.audit()).filter(({ action }) => action === 'createAccount')).toHaveLength(2)
  expect(await world.isTaken((await world.newKey(ANN, 'first')).code)).toBeTrue()
  // Stripe is not told an address to which no mail goes.
  expect((await telegram.ask(ANN, '/topup 25')).buttons[0]?.text).toBe('Pay $25')
  expect([stripe.orders.length, stripe.orders[0]?.get('customer_email')]).toEqual([1, null])
  expect((await telegram.ask(ANN, '/unlink')).text).toContain('Nothing but this chat leads to the account')
  expect((await telegram.ask(ANN, '/balance')).text).toContain('Balance: $0.00')
  expect((await telegram.ask(ANN, '/unlink sure')).text).toContain('no longer linked')
})

test('numbers of updates that begin anew after a silence are heard', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  await until(async () => (await waiting()) === 0)
  const week = Date.now() - 7 * 86_400_000
  await gateway.people().db.run('UPDATE telegram_bots SET taken_at = $week', { week })
  telegram.numberFrom(5)
  await world.restart()
  expect((await telegram.ask(ANN, '/balance')).text).toContain('$25.00')
})

test('updates that cannot be true are asked for again at a growing distance, and do not make the bot deaf or act twice', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  const [from, chat] = [
    { id: ANN, is_bot: false, first_name: 'Ann' },
    { id: ANN, type: 'private' },
  ]
  const old = { update_id: 1_000, message: { message_id: 9, from, chat, date: 0, text: '/help' } }
  const polls = (): number => telegram.calls.filter(({ method }) => method === 'getUpdates').length
  const notices = (): number => gateway.logLines().filter(({ notice }) => notice === 'Telegram does not answer').length
  for (const [n, wrong] of [[{ message: { text: 'no number' } }, null, { update_id: '7' }], [old]].entries()) {
    const sent = sentTo(ANN)
    telegram.updates = () => wrong
    await until(() => notices() === n + 1)
    const [told, toldAt] = [polls(), performance.now()]
    await until(() => polls() > told)
    // A second is between the two; without a pause there are hundreds of questions in that time.
    expect(performance.now() - toldAt).toBeGreaterThan(500)
    telegram.updates = undefined
    expect((await telegram.ask(ANN, '/balance')).text).toContain('$25.00')
    expect(sentTo(ANN)).toBe(sent + 1)
  }
})

test('a token that Telegram does not know and a second poller are alarms, said once and without the token; both pass', async () => {
  const { telegram } = world
  telegram.token = '123456789:another'
  await world.restart()
  await until(() => alarms().includes('Telegram does not know the bot’s token'))
  expect((await fetch(`${world.gateway.url}/livez`)).status).toBe(200)
  telegram.token = BOT_TOKEN
  await world.restart()
  expect((await telegram.ask(ANN, '/help')).text).toContain('not linked')
  const poll = () =>
    fetch(`${telegram.address.apiRoot}/bot${BOT_TOKEN}/getUpdates`, { method: 'POST', body: '{}' }).then((answer) => answer.status)
  await until(async () => {
    await poll()
    return alarms().includes('another program asks for the bot’s updates')
  })
})
