/**
 * From an account's balance to its receiver: each crossing is told once, at least, under one id, whatever dies in between, and no receiver or account keeps
 * another waiting. Rules: pages.md "Alerts", "Webhooks".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { ALERT_BOUNDS } from '../../src/alerts/alert-store.ts'
import { pauseMs } from '../../src/alerts/delivery-worker.ts'
import { until, untilStill } from '../support/until.ts'
import { AlertWorld, BELOW_10, SECRET, usd } from './alert-world.ts'
import { isSigned, type Receiver, startReceiver } from './receiver.ts'

let world: AlertWorld
let receivers: Receiver[]
beforeEach(() => {
  world = new AlertWorld()
  receivers = []
})
afterEach(async () => {
  await world.end()
  await Promise.all(receivers.map((receiver) => receiver.stop()))
})

const receiver = (options?: Parameters<typeof startReceiver>[0]): Receiver => {
  const one = startReceiver(options)
  receivers.push(one)
  return one
}
const deliveries = (accountId = 'acct_1') => world.deliveries.list(accountId, null, 100)
const states = async (accountId?: string) => (await deliveries(accountId)).map(({ state }) => state)
const looked = async (count = 2): Promise<void> => {
  const before = world.looks.get('acct_1') ?? 0
  await until(() => (world.looks.get('acct_1') ?? 0) >= before + count)
}
const metric = async (name: string): Promise<number> =>
  Number(
    (await world.metrics.render())
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1) ?? 0,
  )
/** It is counted, and then said, when the row is committed, which others can read before. */
const counted = async (result: string, deliveries: number): Promise<void> => {
  const name = `tollgate_alert_deliveries_total{channel="webhook",result="${result}"}`
  await until(async () => (await metric(name)) >= deliveries)
  expect(await metric(name)).toBe(deliveries)
}

test('a crossing is told once to each receiver, under one id, and again only after the balance was above', async () => {
  const there = receiver()
  const webhook = await world.addWebhook('acct_1', there.url)
  const alertId = await world.addAlert('acct_1', { emails: ['ann@example.com'], webhooks: [webhook] })
  world.balances.set('acct_1', usd('50'))
  world.start()
  await looked()
  expect(await deliveries()).toEqual([])
  world.balances.set('acct_1', usd('9.5'))
  await until(async () => (await states()).filter((state) => state === 'delivered').length === 2)
  world.balances.set('acct_1', usd('3'))
  await looked()
  expect(there.received).toHaveLength(1)
  expect(world.mails).toHaveLength(1)
  const [told] = there.received
  const { id = '', body = '' } = told ?? {}
  expect(id).toMatch(/^evt_[0-9a-f]{32}$/)
  expect(told !== undefined && isSigned(told, SECRET)).toBe(true)
  expect(JSON.parse(body)).toEqual({
    type: 'alert.balance_below',
    timestamp: '2026-11-20T12:00:00.000Z',
    data: { alert_id: alertId, account_id: 'acct_1', threshold_usd: '10', balance_usd: '9.5' },
  })
  expect(world.mails[0]).toMatchObject({ to: 'ann@example.com', subject: 'Balance below $10.00' })
  expect((await deliveries()).map(({ eventId, type }) => [eventId, type])).toEqual([id, id].map((one) => [one, 'alert.balance_below']))
  world.balances.set('acct_1', usd('10'))
  await looked()
  world.balances.set('acct_1', usd('1'))
  await until(async () => (await states()).length === 4 && (await states()).every((state) => state === 'delivered'))
  expect(there.received).toHaveLength(2)
  expect(there.received[1]?.id).not.toBe(id)
  await counted('delivered', 2)
})

test('a process that dies between decision and delivery tells it later under the same id, and does not decide again', async () => {
  const there = receiver()
  const webhook = await world.addWebhook('acct_1', there.url)
  await world.addAlert('acct_1', { webhooks: [webhook] })
  world.balances.set('acct_1', usd('1'))
  // It dies while it sends: nobody ever hears what came of it.
  const sent: string[] = []
  world.start({
    sendWebhook: ({ id }) => {
      sent.push(id)
      return new Promise(() => undefined)
    },
  })
  await until(() => sent.length === 1)
  await world.die()
  expect(await states()).toEqual(['waiting'])
  world.start()
  await until(async () => (await states())[0] === 'delivered')
  await looked()
  expect(there.received.map(({ id }) => id)).toEqual(sent)
  await world.die()
  world.start()
  await looked()
  expect(there.received).toHaveLength(1)
})

test('what failed is tried again later and later, under the same id, with what waits for it; then it is given up', async () => {
  const there = receiver({ answer: () => new Response('no', { status: 500 }) })
  const webhook = await world.addWebhook('acct_1', there.url)
  await world.addAlert('acct_1', { webhooks: [webhook] })
  world.balances.set('acct_1', usd('1'))
  world.start()
  const pauses = [5, 60, 300, 1_800, 7_200, 21_600, 43_200]
  for (const [index, seconds] of pauses.entries()) {
    await until(async () => (await deliveries())[0]?.attempts === index + 1)
    expect((await deliveries())[0]).toMatchObject({
      state: 'waiting',
      lastStatus: 500,
      lastProblem: 'status 500',
      nextAt: world.nowMs + seconds * 1_000,
    })
    world.nowMs += seconds * 1_000
    world.running?.deliver()
  }
  await until(async () => (await states())[0] === 'failed')
  await counted('given up', 1)
  expect(there.received).toHaveLength(8)
  expect(new Set(there.received.map(({ id }) => id)).size).toBe(1)
  expect((await deliveries())[0]).toMatchObject({ attempts: 8, nextAt: null })
  expect(world.lines.filter(({ notice }) => notice === 'an alert will be delivered later')).toHaveLength(7)
  expect(world.lines.at(-1)).toMatchObject({ notice: 'an alert was not delivered', attempt: 8, problem: 'status 500', channel: 'webhook' })
  expect(JSON.stringify(world.lines)).not.toMatch(/whsec_|hooks\.example/)
  await counted('failed', 7)
})

test('pauses grow, are spread by a fifth at most, and end', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((attempts) => pauseMs(attempts, 0))).toEqual([5e3, 6e4, 3e5, 18e5, 72e5, 216e5, 432e5, undefined])
  expect(pauseMs(1, 1)).toBe(6_000)
})

test('a failure holds back all that waits for the same receiver, and nothing else', async () => {
  const there = receiver({
    answer: async (_, count) => {
      if (count > 1) return new Response()
      await until(async () => (await states()).length === 6)
      return new Response(null, { status: 503 })
    },
  })
  const other = receiver()
  const webhook = await world.addWebhook('acct_1', there.url)
  const webhooks = [webhook, await world.addWebhook('acct_1', other.url)]
  for (const threshold of ['10', '20', '30'])
    await world.addAlert('acct_1', { webhooks, rule: { ...BELOW_10, thresholdPicos: usd(threshold) } as typeof BELOW_10 })
  world.balances.set('acct_1', usd('1'))
  world.start()
  await until(() => other.received.length === 3)
  await looked()
  expect(there.received).toHaveLength(1)
  await until(async () => (await deliveries()).filter(({ nextAt }) => nextAt === world.nowMs + 5_000).length === 3)
  expect((await states()).filter((state) => state === 'waiting')).toHaveLength(3)
  world.nowMs += 5_000
  world.running?.deliver()
  await until(async () => (await states()).every((state) => state === 'delivered'))
  expect(there.received).toHaveLength(4)
})

test('a receiver that hangs delays nobody: not another account, and not another receiver of its own', async () => {
  let inFlight = 0
  let most = 0
  const hanging: (() => void)[] = []
  const slow = await world.addWebhook('acct_0', 'https://slow.example/')
  const slower = await world.addWebhook('acct_0', 'https://slower.example/')
  const third = await world.addWebhook('acct_0', 'https://third.example/')
  for (const threshold of ['10', '20', '30', '40'])
    await world.addAlert('acct_0', { webhooks: [slow, slower, third], rule: { kind: 'balance_below', thresholdPicos: usd(threshold) } })
  for (const n of [1, 2, 3, 4, 5]) {
    const id = await world.addWebhook(`acct_${n}`, 'https://quick.example/')
    await world.addAlert(`acct_${n}`, { webhooks: [id] })
  }
  for (const n of [0, 1, 2, 3, 4, 5]) world.balances.set(`acct_${n}`, usd('1'))
  const sentTo: string[] = []
  world.start({
    sendWebhook: async ({ url }) => {
      sentTo.push(url)
      if (url.includes('quick')) return { status: 200, problem: null }
      most = Math.max(most, ++inFlight)
      await new Promise<void>((resolve) => hanging.push(resolve))
      inFlight--
      return { status: null, problem: 'timeout' }
    },
  })
  for (const n of [1, 2, 3, 4, 5]) await until(async () => (await states(`acct_${n}`))[0] === 'delivered')
  expect(most).toBe(2)
  expect(new Set(sentTo.filter((url) => !url.includes('quick'))).size).toBe(2)
  expect((await states('acct_0')).every((state) => state === 'waiting')).toBe(true)
  for (const end of hanging.splice(0)) end()
  await until(() => sentTo.includes('https://third.example/'))
  expect(most).toBe(2)
  for (const end of hanging.splice(0)) end()
})

test('mail goes to members as of now only; a webhook that was removed or switched off gets nothing; 410 ends it', async () => {
  const there = receiver({ answer: () => new Response(null, { status: 410 }) })
  const gone = await world.addWebhook('acct_1', there.url)
  const off = await world.addWebhook('acct_1', there.url)
  const removed = await world.addWebhook('acct_1', there.url)
  world.members = ['ann@example.com']
  await world.addAlert('acct_1', { emails: ['ann@example.com', 'bob@example.com'], webhooks: [gone, off, removed] })
  world.balances.set('acct_1', usd('1'))
  await world.store.changeWebhook('acct_1', off, { url: there.url, isEnabled: false })
  await world.store.removeWebhook('acct_1', removed)
  world.start()
  await until(async () => (await states()).length > 0 && !(await states()).includes('waiting'))
  expect(world.mails.map(({ to }) => to)).toEqual(['ann@example.com'])
  expect((await deliveries()).map(({ channel, state, lastProblem }) => [channel, state, lastProblem])).toEqual([
    ['webhook', 'failed', 'status 410'],
    ['email', 'failed', 'no member of the account'],
    ['email', 'delivered', null],
  ])
  expect(there.received).toHaveLength(1)
})

test('mail that the server does not take is tried again; without mail at all it is said so', async () => {
  world.mailProblem = 'refused'
  await world.addAlert('acct_1', { emails: ['ann@example.com'] })
  world.balances.set('acct_1', usd('1'))
  world.start()
  await until(async () => (await deliveries())[0]?.attempts === 1)
  expect((await deliveries())[0]).toMatchObject({ state: 'waiting', lastProblem: 'refused' })
  await world.die()
  world.nowMs += 5_000
  world.start({ sendMail: undefined })
  await until(async () => (await states())[0] === 'failed')
  expect((await deliveries())[0]?.lastProblem).toBe('no mail is set up')
})

test('chats that want alerts are told every one of their account, those that were removed meanwhile none, and one that blocked the bot is given up', async () => {
  for (const [chat, wants] of [
    [1, true],
    [2, true],
    [3, true],
    [4, false],
  ] as const)
    await world.addChat('acct_1', chat, wants)
  await world.addChat('acct_2', 5, true)
  await world.addAlert('acct_1')
  world.balances.set('acct_1', usd('1'))
  const told: string[] = []
  const sendChat = (chat: string, text: string) => {
    told.push(`${chat} ${text.split('\n')[0]}`)
    return Promise.resolve(chat === '2' ? 'the chat takes no messages of the bot' : { status: 200, problem: null })
  }
  world.start({ sendChat: undefined })
  await until(async () => (await states()).length === 3 && (await states()).every((state) => state === 'failed'))
  expect((await deliveries())[0]?.lastProblem).toBe('no bot is set up')
  await world.die()
  await world.query("UPDATE deliveries SET state = 'waiting', done_at = NULL")
  await world.query('DELETE FROM telegram_chats WHERE chat = 3')
  world.start({ sendChat })
  await until(async () => (await states()).every((state) => state !== 'waiting'))
  expect(told.toSorted()).toEqual(['1 Balance below $10.00', '2 Balance below $10.00'])
  const ends = (await deliveries()).map(({ target, state, lastProblem }) => [target, state, lastProblem] as const)
  expect(ends.toSorted()).toEqual([
    ['1', 'delivered', null],
    ['2', 'failed', 'the chat takes no messages of the bot'],
    ['3', 'failed', 'no chat of the account'],
  ])
})

test('an account has so many alerts, webhooks, deliveries that wait and events that are kept; what has no room is counted', async () => {
  for (let n = 0; n < ALERT_BOUNDS.alerts; n++)
    await world.addAlert('acct_1', { rule: { kind: 'key_limit_used', percent: 50, keyId: null }, emails: ['ann@example.com'] })
  await expect(world.addAlert('acct_1')).rejects.toThrow('no room')
  for (let n = 0; n < ALERT_BOUNDS.webhooks; n++) await world.addWebhook('acct_1', 'https://example.com/')
  await expect(world.addWebhook('acct_1', 'https://example.com/')).rejects.toThrow('no room')
  await world.addAlert('acct_2')
  for (let n = 0; n < 10; n++)
    world.keys.push({
      id: `key_${n}`,
      name: '',
      isActive: true,
      expiresAt: null,
      limitPicos: usd('1'),
      spentPicos: usd('1'),
      spentTodayPicos: usd('0'),
    })
  world.balances.set('acct_1', usd('1'))
  world.start({ sendMail: () => new Promise(() => undefined) })
  await looked()
  expect(await world.deliveries.waiting()).toBe(ALERT_BOUNDS.waiting)
  expect(await metric('tollgate_alerts_dropped_total')).toBe(100)
  for (let n = 0; n < 600; n++)
    await world.store.tell(
      'acct_1',
      { eventId: `evt_${n + 1_000}`, event: { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acct_1' } } },
      { emails: [], webhooks: [] },
    )
  expect((await world.query<{ n: number }>('SELECT count(*) AS n FROM alert_events'))[0]?.n).toBe(ALERT_BOUNDS.kept)
})

test('a budget is told once a window to each receiver, also behind a restart, and again in the next window', async () => {
  const there = receiver()
  const webhook = await world.addWebhook('acct_1', there.url)
  await world.addAlert('acct_1', {
    rule: { kind: 'key_limit_used', percent: 80, keyId: null },
    emails: ['ann@example.com'],
    webhooks: [webhook],
  })
  world.balances.set('acct_1', usd('50'))
  const hour = 3_600_000
  const spend = (spent: string): void => {
    const window = {
      per: 'hour',
      capPicos: usd('10'),
      spentPicos: usd(spent),
      resetsAt: world.nowMs - (world.nowMs % hour) + hour,
    } as const
    const money = { limitPicos: null, spentPicos: usd('0'), spentTodayPicos: usd('0') }
    world.keys.splice(0, 1, { id: 'key_1', name: 'one', isActive: true, expiresAt: null, ...money, windows: [window] })
  }
  spend('8.5')
  world.start()
  await until(async () => (await states()).filter((state) => state === 'delivered').length === 2)
  await world.die()
  spend('9.5')
  world.start()
  await looked()
  expect(await deliveries()).toHaveLength(2)
  expect(world.mails).toMatchObject([{ subject: 'A key has used 80 % of its budget per hour' }])
  expect(JSON.parse(there.received[0]?.body ?? '').data).toMatchObject({ spent_usd: '8.5', resets_at: '2026-11-20T13:00:00.000Z' })
  world.nowMs += hour
  spend('0')
  await looked()
  expect(await deliveries()).toHaveLength(2)
  spend('8')
  await until(async () => (await states()).filter((state) => state === 'delivered').length === 4)
  expect(there.received).toHaveLength(2)
})

test('what was told is forgotten after thirty days', async () => {
  await world.addAlert('acct_1', { emails: ['ann@example.com'] })
  world.balances.set('acct_1', usd('1'))
  world.start()
  await until(async () => (await states())[0] === 'delivered')
  world.nowMs += 30 * 86_400_000
  await looked()
  expect(await states()).toEqual(['delivered'])
  world.nowMs += 1
  await until(async () => (await states()).length === 0)
  expect(await world.query('SELECT * FROM deliveries')).toEqual([])
})

test('only accounts with an alert that is switched on are looked at, and without any nothing looks', async () => {
  await world.addAlert('acct_1', { isEnabled: false })
  const id = await world.addAlert('acct_2')
  world.balances.set('acct_2', usd('100'))
  world.start()
  await until(() => (world.looks.get('acct_2') ?? 0) > 2)
  expect(world.looks.has('acct_1')).toBe(false)
  expect(await world.store.removeAlert('acct_2', id)).toBe(true)
  await untilStill(() => world.looks.get('acct_2') ?? 0, 'nothing looks')
  await world.addAlert('acct_1')
  world.running?.look()
  await looked()
})

test('an alert that changes while it is judged is judged again by its new rule; another rule is armed anew, other receivers are not', async () => {
  const id = await world.addAlert('acct_1', { emails: ['ann@example.com'] })
  const before = await world.store.alert('acct_1', id)
  if (before === undefined) throw new Error('no alert')
  const rule = { kind: 'balance_below', thresholdPicos: usd('5') } as const
  await world.store.changeAlert('acct_1', id, { ...before, rule })
  const event = { type: 'alert.test', timestamp: '', data: { alert_id: id, account_id: 'acct_1' } } as const
  expect(
    await world.store.fire(before, { before: new Map(), marks: new Map([['', 'below']]), firings: [{ eventId: 'evt_1', event }] }),
  ).toEqual({ told: 0, dropped: 0 })
  expect((await world.store.marks(id)).size).toBe(0)
  const now = await world.store.alert('acct_1', id)
  if (now === undefined) throw new Error('no alert')
  expect(
    await world.store.fire(now, { before: new Map(), marks: new Map([['', 'below']]), firings: [{ eventId: 'evt_1', event }] }),
  ).toEqual({ told: 1, dropped: 0 })
  await world.store.changeAlert('acct_1', id, { ...now, emails: ['bob@example.com'] })
  expect([...(await world.store.marks(id))]).toEqual([['', 'below']])
  await world.store.changeAlert('acct_1', id, { ...now, rule: BELOW_10 })
  expect((await world.store.marks(id)).size).toBe(0)
  expect(await world.store.changeAlert('acct_2', id, now)).toBe(false)
  expect(await world.store.removeAlert('acct_2', id)).toBe(false)
})

test('what one account has is not there for another', async () => {
  const webhook = await world.addWebhook('acct_1', 'https://example.com/')
  expect(await world.store.webhook('acct_2', webhook)).toBeUndefined()
  expect(await world.store.changeWebhook('acct_2', webhook, { url: 'https://evil.example/', isEnabled: true })).toBe(false)
  expect(await world.store.removeWebhook('acct_2', webhook)).toBe(false)
  await world.store.tell(
    'acct_2',
    { eventId: 'evt_1', event: { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acct_2' } } },
    { emails: [], webhooks: [webhook] },
  )
  expect(await deliveries('acct_2')).toEqual([])
  expect(await world.store.webhooks('acct_1')).toHaveLength(1)
})

test('a bug in what reads the facts is said, and the next look comes all the same', async () => {
  await world.addAlert('acct_1')
  let asked = 0
  world.start({
    factsOf: () => {
      asked++
      return asked === 1 ? Promise.reject(new Error('a bug')) : Promise.resolve(undefined)
    },
  })
  await until(() => asked > 2)
  expect(world.lines.filter(({ alarm }) => alarm === 'a look at the alerts failed by a bug')).toHaveLength(1)
})

test('a receiver can be tried, once it is asked, and says that it was a test', async () => {
  const there = receiver()
  const webhook = await world.addWebhook('acct_1', there.url)
  const eventId = await world.start().try('acct_1', { emails: ['ann@example.com'], webhooks: [webhook] })
  await until(async () => (await states()).length === 2 && !(await states()).includes('waiting'))
  expect(there.received.map(({ id, body }) => [id, JSON.parse(body).type])).toEqual([[eventId, 'alert.test']])
  expect(world.mails).toMatchObject([{ to: 'ann@example.com', subject: 'Test of an alert' }])
  expect((await deliveries()).map(({ alertId }) => alertId)).toEqual([null, null])
  expect(await world.running?.try('acct_1', { emails: [], webhooks: ['hook_of_nobody'] })).toBeUndefined()
})

test('whoever makes an alert fire anew again and again has so much an hour sent to others, and forgets nothing of it', async () => {
  await world.addAlert('acct_1', { emails: ['ann@example.com'] })
  const tell = async (n: number) =>
    (
      await world.store.tell(
        'acct_1',
        { eventId: `evt_${1_000 + n}`, event: { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acct_1' } } },
        { emails: ['ann@example.com'], webhooks: [] },
      )
    ).told
  let told = 0
  const tellMany = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) {
      told += await tell(n)
      for (const due of await world.deliveries.claim(4, () => true)) await world.deliveries.delivered(due, { status: null, problem: null })
    }
  }
  await tellMany(0, 1_000)
  expect(told).toBe(ALERT_BOUNDS.hourly)
  world.nowMs += 3_600_000
  await tellMany(1_000, 1_010)
  expect(told).toBe(ALERT_BOUNDS.hourly + 10)
})
