/** Conversations with the cabinet's bot as people have them: each act is the cabinet's, in the audit log under the person's name. Rules: pages.md "Telegram", "Keys of an account", "Codes", "Stripe". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { newCodes } from '../../../src/ledger/operations/new-codes.ts'
import { type FakeStripe, SECRETS, startFakeStripe } from '../../support/fake-stripe.ts'
import { BOT_TOKEN } from '../../support/fake-telegram.ts'
import { usd } from '../../support/ledger.ts'
import { until } from '../../support/until.ts'
import { ANN, BOB, BotWorld, NORTH } from './bot-world.ts'

let world: BotWorld
let stripe: FakeStripe

beforeEach(async () => {
  stripe = startFakeStripe()
  const payments = { text: 'Or ask Ann', stripe: { ...SECRETS, minPicos: usd('20'), maxPicos: usd('500') } }
  world = await BotWorld.start({ payments, stripeAddress: stripe.address })
})
afterEach(async () => {
  expect(world.gateway.verify()).toEqual([])
  const log = JSON.stringify(world.gateway.logLines())
  await world.end()
  stripe.stop()
  expect(log).not.toContain(BOT_TOKEN.slice(10))
  expect(log).not.toContain('"alarm"')
})

const stateIn = (after: unknown): unknown =>
  (typeof after === 'string' ? (JSON.parse(after) as { state?: unknown }) : (after as { state?: unknown })).state

test('a code links a chat, whose person sees the balance and what was spent', async () => {
  const { telegram } = world
  expect((await telegram.ask(ANN, '/balance')).text).toContain('not linked')
  expect((await world.link(ANN, 'ann@example.com')).text).toContain(`linked to the account “${NORTH}”`)
  expect((await telegram.ask(ANN, '/balance')).text).toBe('Balance: $25.00\nNothing spent in the last 7 days')
  const { code } = await world.newKey(ANN, 'laptop')
  const body = { model: 'sonnet', max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
  expect((await world.gateway.post('/v1/messages', code, body)).status).toBe(200)
  await world.gateway.idle()
  const shown = await telegram.ask(ANN, '/spend')
  expect(shown.text).toMatch(
    /^7 days \(UTC\): \$0\.\d+, 1 request\n\nSonnet +█{12} \$0\.\d+|^7 days \(UTC\): \$0\.\d+, 1 request\n\nsonnet +█{12} \$0\.\d+/,
  )
  expect(shown.code).toContain('█')
  expect((await telegram.tap(ANN, 'Today')).text).toMatch(/^Today \(UTC\): \$0\.\d+, 1 request/)
  expect((await telegram.tap(ANN, '30 days')).text).toMatch(/^30 days \(UTC\)/)
})

test('an owner makes, limits, disables, enables and rotates a key by buttons, and each act has its line in the audit log', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  const made = await world.newKey(ANN, 'laptop')
  expect(await world.isTaken(made.code)).toBeTrue()
  await world.openKey(ANN, 'laptop')
  expect((await telegram.tap(ANN, 'Limit')).text).toContain('Send the limit of laptop')
  expect((await telegram.ask(ANN, 'ten')).text).toBe('An amount in USD, such as 25 or 0.50; empty for no limit')
  expect((await telegram.ask(ANN, '10')).text).toContain('Spent $0.00 of $10.00')
  expect((await telegram.tap(ANN, 'Disable')).text).toContain('laptop')
  expect(await world.isTaken(made.code)).toBeFalse()
  await telegram.tap(ANN, 'Enable')
  await telegram.tap(ANN, 'Rotate')
  const rotated = await telegram.tap(ANN, 'The old secret ends now')
  expect([await world.isTaken(made.code), await world.isTaken(rotated.code)]).toEqual([false, true])
  const by = { actor: 'person:ann@example.com', address: `telegram:${ANN}` }
  const acts = (await world.audit()).filter(({ address }) => address.startsWith('telegram:'))
  expect(acts.map(({ action }) => action).reverse()).toEqual([
    'setChat',
    'createKey',
    'setKeyLimit',
    'setKeyActive',
    'setKeyActive',
    'rotateKey',
  ])
  for (const act of acts) expect(act).toMatchObject(by)
})

test('a message with a secret is gone two minutes after its person asked, and not before', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  const { id } = await world.newKey(ANN, 'laptop')
  const isThere = (): boolean => telegram.messages(ANN).some((message) => message.id === id)
  telegram.press(ANN, 'Delete this message in two minutes')
  await until(() => telegram.messages(ANN).find((message) => message.id === id)?.buttons.length === 0)
  const [due] = await gateway.people().db.all<{ at: number }>('SELECT delete_at AS at FROM telegram_deletions')
  expect(Math.abs((due?.at ?? 0) - Date.now() - 120_000)).toBeLessThan(60_000)
  expect(isThere()).toBeTrue()
  // The two minutes pass while the process is away.
  await gateway.people().db.run('UPDATE telegram_deletions SET delete_at = $at', { at: Date.now() - 1 })
  await world.restart()
  await until(() => !isThere())
})

test('a prepaid code and a page of Stripe’s top up; what is neither is told so', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  const { shown, codes } = newCodes(1)
  await world.gateway.operate({
    kind: 'createCodes',
    batchId: 'batch_1',
    name: '',
    amountPicos: usd('12.5'),
    expiresAt: null,
    codes,
    now: Date.now(),
  })
  const ways = await telegram.ask(ANN, '/topup')
  expect(ways.text).toContain('Or ask Ann')
  // The operator's bounds begin at $20.
  expect(ways.buttons.map(({ text }) => text)).toEqual(['$25', '$50', '$100'])
  expect((await telegram.ask(ANN, shown[0] ?? '')).text).toBe('$12.50 is on the account.')
  expect(await world.balance()).toBe(usd('37.5'))
  expect((await telegram.ask(ANN, `/topup ${shown[0]}`)).text).toContain('on the account already')
  expect((await telegram.ask(ANN, '/topup TG-WRONG')).text).toBe('This is no code: compare each character')
  expect((await telegram.ask(ANN, '/topup 5')).text).toBe('From $20 to $500, in whole cents')
  const paid = await telegram.ask(ANN, '/topup 42')
  expect(paid.buttons).toEqual([{ text: 'Pay $42', url: 'https://pay.example/1' }])
  expect(stripe.orders[0]?.get('metadata[tollgate_account]') ?? stripe.orders[0]?.toString()).toContain(NORTH)
  await telegram.ask(ANN, '/topup')
  expect((await telegram.tap(ANN, '$25')).buttons).toEqual([{ text: 'Pay $25', url: 'https://pay.example/2' }])
})

test('two people of an account each have a chat and a name; a reader looks, and does nothing else, whatever is pressed', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  await world.link(BOB, 'bob@example.com', NORTH, 'reader')
  const made = await world.newKey(ANN, 'laptop')
  const [key] = await world.keys()
  const shown = await world.openKey(BOB, 'laptop')
  expect(shown.buttons.map(({ text }) => text)).toEqual(['All keys'])
  const refusal = 'Only an owner of this account may do this.'
  for (const data of ['new', `off:${key?.id}`, `rotate0:${key?.id}`, `limit:${key?.id}`, `unlimit:${key?.id}`, 'pay:25'])
    expect([data, (await telegram.tap(BOB, 'forged', data)).text]).toEqual([data, refusal])
  expect((await telegram.ask(BOB, '/topup 25')).text).toBe(refusal)
  expect(await world.isTaken(made.code)).toBeTrue()
  expect((await telegram.ask(BOB, '/balance')).text).toContain('$25.00')
})

test('a person who is put out presses old buttons in vain, and is not told of the account any more', async () => {
  const { telegram, gateway } = world
  await world.person('ann@example.com')
  await world.link(BOB, 'bob@example.com')
  const made = await world.newKey(BOB, 'laptop')
  await world.openKey(BOB, 'laptop')
  expect(await gateway.people().memberships.remove('bob@example.com', { accountId: NORTH })).toBe('removed')
  expect((await telegram.tap(BOB, 'Disable')).text).toContain('not linked')
  expect((await telegram.ask(BOB, '/balance')).text).toContain('not linked')
  expect(await world.isTaken(made.code)).toBeTrue()
  expect(await gateway.people().chats.list()).toEqual([])
})

test('a role that was taken back counts with the next press', async () => {
  const { telegram } = world
  await world.person('ann@example.com')
  await world.link(BOB, 'bob@example.com')
  const made = await world.newKey(BOB, 'laptop')
  await world.openKey(BOB, 'laptop')
  await world.person('bob@example.com', NORTH, 'reader')
  expect((await telegram.tap(BOB, 'Disable')).text).toBe('Only an owner of this account may do this.')
  expect(await world.isTaken(made.code)).toBeTrue()
})

test('a chat moves to another account by its code, and its old buttons find nothing there', async () => {
  const { telegram } = world
  await world.makeAccount('acc_south', '7')
  await world.link(ANN, 'ann@example.com')
  const made = await world.newKey(ANN, 'laptop')
  await world.openKey(ANN, 'laptop')
  expect((await world.link(ANN, 'ann@example.com', 'acc_south')).text).toContain('acc_south')
  telegram.pressed(
    ANN,
    telegram.messages(ANN).findLast(({ buttons }) => buttons.some(({ text }) => text === 'Disable'))?.id ?? 0,
    `off:${(await world.keys())[0]?.id}`,
  )
  await until(() => telegram.messages(ANN).some(({ text }) => text === 'This is not there any more.'))
  expect(await world.isTaken(made.code)).toBeTrue()
  expect((await telegram.ask(ANN, '/balance')).text).toContain('$7.00')
  const chats = (await world.audit()).filter(({ action }) => action === 'setChat').map(({ target, after }) => [target, stateIn(after)])
  expect(chats.reverse()).toEqual([
    [NORTH, 'linked'],
    ['acc_south', 'linked'],
    [NORTH, 'removed'],
  ])
})

test('a link of another customer moves no chat that did not say so: what is sent meanwhile is the first account’s', async () => {
  const { telegram } = world
  await world.makeAccount('acc_mallory', '1')
  await world.link(ANN, 'ann@example.com')
  const code = await world.code('mallory@example.com', 'acc_mallory')
  const asked = await telegram.ask(ANN, `/start ${code}`)
  expect(asked.text).toContain(`linked to the account “${NORTH}”`)
  expect(asked.text).toContain('leads to the account “acc_mallory”')
  const { shown, codes } = newCodes(1)
  await world.gateway.operate({
    kind: 'createCodes',
    batchId: 'b',
    name: '',
    amountPicos: usd('5'),
    expiresAt: null,
    codes,
    now: Date.now(),
  })
  expect((await telegram.ask(ANN, `/topup ${shown[0]}`)).text).toBe('$5.00 is on the account.')
  expect([await world.balance(), await world.balance('acc_mallory')]).toEqual([usd('30'), usd('1')])
  const chats = async () =>
    (await world.audit()).filter(({ action }) => action === 'setChat').map(({ target, after }) => [target, stateIn(after)])
  expect(await chats()).toEqual([[NORTH, 'linked']])
  const button = asked.buttons[0]?.text ?? ''
  expect((await telegram.tap(ANN, button)).text).toContain('This chat is linked to the account “acc_mallory”')
  expect((await telegram.ask(ANN, '/balance')).text).toContain('$1.00')
  expect(await chats()).toEqual([
    [NORTH, 'removed'],
    ['acc_mallory', 'linked'],
    [NORTH, 'linked'],
  ])
  // The code is used up: another chat gets nothing of it, however its button is forged.
  await world.link(BOB, 'bob@example.com')
  expect((await telegram.tap(BOB, 'forged', `move:${code}`)).text).toContain('not valid')
})

test('a code works once, for one chat, and guessing gets slow', async () => {
  const { telegram, gateway } = world
  const code = await world.code('ann@example.com')
  expect((await telegram.ask(ANN, `/start ${code.toLowerCase().replace(/^.{5}/, '$&-')}`)).text).toContain('linked to the account')
  expect((await telegram.ask(BOB, `/start ${code}`)).text).toContain('not valid')
  // Made before the guesses: the first refusal lasts a second.
  const another = await world.code('bob@example.com')
  for (let wrong = 0; wrong < 4; wrong++) expect((await telegram.ask(BOB, '/start 0123456789')).text).toContain('not valid')
  expect((await telegram.ask(BOB, `/start ${another}`)).text).toMatch(/^Too many attempts\. Try again in \d+ s\.$/)
  const [row] = await gateway.people().db.all<{ code_hash: Uint8Array }>('SELECT code_hash FROM telegram_codes')
  expect(Buffer.from(row?.code_hash ?? []).toString()).not.toContain(code)
})

test('groups, forwarded messages and other bots’ words are not heard', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  const made = await world.newKey(ANN, 'laptop')
  const [key] = await world.keys()
  const shown = telegram.messages(ANN).length
  telegram.write(ANN, '/balance', { chat: { id: -100_7, type: 'supergroup' } })
  telegram.write(ANN, '/balance', { chat: { id: BOB, type: 'private' } })
  telegram.write(ANN, '/balance', { forward_origin: { type: 'user' } })
  telegram.write(ANN, '/balance', { via_bot: { id: 1, is_bot: true } })
  telegram.pressed(ANN, 1, `off:${key?.id}`, { id: -100_7, type: 'group' })
  telegram.pressed(BOB, 1, `off:${key?.id}`, { id: ANN, type: 'private' })
  expect((await telegram.ask(ANN, '/balance')).text).toContain('$25.00')
  expect(telegram.messages(ANN).length).toBe(shown + 1)
  expect(telegram.calls.filter(({ method, payload }) => method === 'sendMessage' && Number(payload['chat_id']) !== ANN)).toEqual([])
  expect(await world.isTaken(made.code)).toBeTrue()
})

test('names with markup and buttons with anything in them are texts like others', async () => {
  const { telegram } = world
  const name = '<b>*laptop*</b> [x](y) _z_'
  await world.link(ANN, 'ann@example.com')
  expect((await world.newKey(ANN, name)).text).toContain(`The key ${name} is made.`)
  expect((await telegram.ask(ANN, '/keys')).buttons[0]?.text).toBe(`${name} · active`)
  const forged = [
    'off:',
    'off:key_0',
    'key:../../x',
    'more:nothing',
    'limit:’; DROP TABLE keys',
    'rotate99:key_1',
    '',
    '\u0000',
    'delete:5',
    'spend:9999999',
  ]
  for (const data of forged) expect([data, (await telegram.tap(ANN, 'forged', data)).text]).not.toEqual([data, ''])
  expect((await world.keys()).map(({ isActive }) => isActive)).toEqual([true])
})

test('a chat is told alerts after it asked, by the rule that the bot made, and none after it wants no more', async () => {
  const { telegram, gateway } = world
  await world.link(ANN, 'ann@example.com')
  expect((await telegram.ask(ANN, '/alerts')).text).toContain('are off')
  const told = () => telegram.messages(ANN).filter(({ text }) => text.startsWith('Balance below $30.00\n\nThe balance is $25.00.')).length
  telegram.write(ANN, '/alerts on 30')
  await until(() => told() === 1 && telegram.messages(ANN).some(({ text }) => text.includes('below $30.00')))
  expect((await telegram.ask(ANN, '/alerts on')).text).toContain('below $30.00')
  expect((await telegram.ask(ANN, '/alerts off')).text).toContain('no longer')
  expect((await telegram.ask(ANN, '/alerts')).text).toContain('are off')
  const deliveries = 'SELECT channel, target, state FROM deliveries'
  await until(async () => (await gateway.people().db.all(deliveries)).length === 1)
  expect(await gateway.people().db.all(deliveries)).toEqual([{ channel: 'telegram', target: String(ANN), state: 'delivered' }])
  expect(
    (await world.audit())
      .filter(({ action }) => action === 'setChat')
      .map(({ after }) => stateIn(after))
      .reverse(),
  ).toEqual(['linked', 'told alerts', 'told alerts', 'not told alerts'])
})

test('who unlinks a chat is a stranger to the bot, and help is told to all who belong', async () => {
  const { telegram } = world
  await world.link(ANN, 'ann@example.com')
  for (const text of ['/help', '/nonsense', 'hello', '/start']) expect((await telegram.ask(ANN, text)).text).toContain('/balance – ')
  expect((await telegram.ask(ANN, '/unlink')).text).toContain('no longer linked')
  expect((await telegram.ask(ANN, '/keys')).text).toContain('not linked')
  expect(telegram.calls.find(({ method }) => method === 'setMyCommands')?.payload['commands']).toHaveLength(7)
})
