/**
 * From the page to the receiver, in a whole gateway: an owner sets alerts and webhooks, a paid request crosses the threshold, and mail and webhook tell of it. What
 * is another account's is not there, readers only look, and a gateway without alerts has nothing of them in memory. Rules: pages.md "Alerts", "Webhooks".
 */

import { afterEach, expect, test } from 'bun:test'
import { picos } from '../../../src/core/money.ts'
import { isSigned, type Receiver, startReceiver } from '../../alerts/receiver.ts'
import { type SmtpServer, startSmtp } from '../../people/smtp-server.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts'
import { Browser, PASSWORD } from '../../support/people.ts'
import { until } from '../../support/until.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

type Started = Readonly<{ gateway: TestGateway; smtp: SmtpServer; receiver: Receiver; secret: string }>

async function start(options: TestGatewayOptions = {}): Promise<Started> {
  const smtp = startSmtp()
  const receiver = startReceiver({ certificate: null })
  const gateway = await startTestGateway({ mail: { url: smtp.url, from: 'gateway@example.com' }, allowPrivate: true, ...options })
  const secret = await gateway.createKey({ id: 'key_north', balanceUsd: '1' })
  await gateway.createKey({ id: 'key_south' })
  stops.push(
    () => smtp.stop(),
    () => receiver.stop(),
    () => gateway.stop(),
  )
  return { gateway, smtp, receiver, secret }
}

async function signIn({ gateway }: Started, email: string, accountId = 'acc_north', role: 'owner' | 'reader' = 'owner'): Promise<Browser> {
  const people = gateway.people()
  const browser = new Browser({ handle: (request) => fetch(request) }, people.origins('cabinet').base, 'cabinet', '192.0.2.1')
  const { status } = await browser.post('/auth/invite', {
    token: await people.links.invite(email, { accountId, role }, 'os:test'),
    password: PASSWORD,
  })
  expect(status).toBe(200)
  return browser
}

const NORTH = '/api/accounts/acc_north'
const hookAt = ({ receiver }: Started): string => `http://127.0.0.1:${receiver.port}/hook`
const idOf = (answer: { body: Record<string, unknown> }): string => String(answer.body['id'])
const rows = (answer: { body: Record<string, unknown> }) => answer.body['data'] as Record<string, unknown>[]

test('a paid request that crosses a threshold is told by mail and webhook, and the deliveries say so', async () => {
  const started = await start()
  const { gateway, smtp, receiver, secret } = started
  const ann = await signIn(started, 'ann@example.com')
  const made = await ann.post(`${NORTH}/webhooks`, { url: hookAt(started) })
  expect(made.status).toBe(201)
  const hookSecret = String(made.body['secret'])
  expect(hookSecret).toMatch(/^whsec_/)
  expect(made.body).toMatchObject({ url: hookAt(started), is_enabled: true, created_by: 'ann@example.com' })
  expect(JSON.stringify((await ann.get(`${NORTH}/webhooks`)).body)).not.toContain('whsec_')
  const alert = await ann.post(`${NORTH}/alerts`, {
    kind: 'daily_spend_above',
    threshold_usd: '0.0000001',
    emails: ['Ann@example.com'],
    webhook_ids: [idOf(made)],
  })
  expect(alert.status).toBe(201)
  expect(alert.body).toMatchObject({
    kind: 'daily_spend_above',
    threshold_usd: '0.0000001',
    days: null,
    key_id: null,
    emails: ['ann@example.com'],
    webhook_ids: [idOf(made)],
    is_enabled: true,
    is_firing: false,
  })
  expect(receiver.received).toEqual([])
  const paid = await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] })
  expect(paid.status).toBe(200)
  await paid.text()
  // Any change of an alert is a look at once; otherwise it is one in fifteen seconds.
  expect((await ann.send('PATCH', `${NORTH}/alerts/${idOf(alert)}`, { is_enabled: true })).status).toBe(200)
  await until(() => receiver.received.length === 1 && smtp.letters.length === 1)
  const [told] = receiver.received
  expect(told !== undefined && isSigned(told, hookSecret)).toBe(true)
  expect(JSON.parse(told?.body ?? '')).toMatchObject({
    type: 'alert.daily_spend_above',
    data: { account_id: 'acc_north', alert_id: idOf(alert) },
  })
  expect(smtp.letters[0]?.text).toContain('/cabinet/a/acc_north/alerts')
  expect(smtp.letters[0]).toMatchObject({
    to: ['ann@example.com'],
    text: expect.stringContaining('Subject: More than $0.0000001 spent today'),
  })
  await until(async () => rows(await ann.get(`${NORTH}/deliveries`)).every(({ state }) => state === 'delivered'))
  const deliveries = await ann.get(`${NORTH}/deliveries?limit=1`)
  expect(rows(deliveries)).toMatchObject([
    { event_id: told?.id, type: 'alert.daily_spend_above', channel: 'webhook', attempts: 1, last_status: 200, next_at: null },
  ])
  expect(rows(await ann.get(`${NORTH}/deliveries?before=${deliveries.body['next']}`))).toMatchObject([
    { channel: 'email', target: 'ann@example.com' },
  ])
  expect(rows(await ann.get(`${NORTH}/alerts`))).toMatchObject([{ is_firing: true }])
  const metrics = await (await fetch(`${gateway.operatorUrl}/metrics`)).text()
  expect(metrics).toContain('tollgate_alert_deliveries_waiting 0\n')
})

test('a gateway that starts again goes on with the alerts that it has, and one that has none loads nothing', async () => {
  const started = await start()
  const ann = await signIn(started, 'ann@example.com')
  const { gateway, receiver } = started
  const hook = await ann.post(`${NORTH}/webhooks`, { url: hookAt(started) })
  const alert = { kind: 'balance_below', threshold_usd: '0.5', emails: [], webhook_ids: [idOf(hook)] }
  expect((await ann.post(`${NORTH}/alerts`, alert)).status).toBe(201)
  await gateway.operate({
    kind: 'credit',
    creditKind: 'correction',
    accountId: 'acc_north',
    creditId: 'crd_1',
    amountPicos: picos(-600_000_000_000n),
    ref: '',
    now: Date.now(),
  })
  await gateway.drain()
  expect(receiver.received).toEqual([])
  const again = await startTestGateway({ ledgerPath: gateway.ledgerPath, allowPrivate: true })
  stops.push(() => again.stop())
  await until(() => receiver.received.length === 1)
})

test('owners write, readers look, others and other accounts find nothing', async () => {
  const started = await start()
  const ann = await signIn(started, 'ann@example.com')
  const bob = await signIn(started, 'bob@example.com', 'acc_north', 'reader')
  const eve = await signIn(started, 'eve@example.com', 'acc_south')
  const hook = idOf(await ann.post(`${NORTH}/webhooks`, { url: hookAt(started) }))
  const alert = { kind: 'balance_below', threshold_usd: '0.1', emails: [], webhook_ids: [hook] }
  const id = idOf(await ann.post(`${NORTH}/alerts`, alert))
  const writes = [
    ['POST', '/alerts', alert],
    ['PATCH', `/alerts/${id}`, { is_enabled: false }],
    ['DELETE', `/alerts/${id}`, undefined],
    ['POST', `/alerts/${id}/test`, {}],
    ['POST', '/webhooks', { url: hookAt(started) }],
    ['PATCH', `/webhooks/${hook}`, { is_enabled: false }],
    ['DELETE', `/webhooks/${hook}`, undefined],
    ['POST', `/webhooks/${hook}/test`, {}],
  ] as const
  for (const [method, path, body] of writes) {
    expect([path, (await bob.send(method, `${NORTH}${path}`, body)).status]).toEqual([path, 403])
    expect([path, (await eve.send(method, `${NORTH}${path}`, body)).status]).toEqual([path, 404])
    // By her own account's address.
    const own = (await eve.send(method, `/api/accounts/acc_south${path}`, body)).status
    expect([path, own]).toEqual([path, path === '/webhooks' ? 201 : path === '/alerts' ? 400 : 404])
  }
  for (const path of ['/alerts', '/webhooks', '/deliveries']) {
    expect((await bob.get(`${NORTH}${path}`)).status).toBe(200)
    expect((await eve.get(`${NORTH}${path}`)).status).toBe(404)
  }
  expect(rows(await ann.get(`${NORTH}/alerts`))).toMatchObject([{ id, is_enabled: true }])
  expect(rows(await ann.get(`${NORTH}/webhooks`))).toMatchObject([{ id: hook, is_enabled: true }])
  expect((await ann.delete(`${NORTH}/alerts/${id}`)).status).toBe(204)
  expect((await ann.delete(`${NORTH}/alerts/${id}`)).status).toBe(404)
  expect((await ann.delete(`${NORTH}/webhooks/${hook}`)).status).toBe(204)
})

test('what is wrong in a form is named with its field', async () => {
  const started = await start({ allowPrivate: false })
  const ann = await signIn(started, 'ann@example.com')
  const to = { emails: ['ann@example.com'], webhook_ids: [] }
  const wrong: readonly [object, string][] = [
    [{ ...to, kind: 'everything' }, 'kind'],
    [{ ...to, kind: 'balance_below' }, 'threshold_usd'],
    [{ ...to, kind: 'balance_below', threshold_usd: '0' }, 'threshold_usd'],
    [{ ...to, kind: 'balance_below', threshold_usd: '-1' }, 'threshold_usd'],
    [{ ...to, kind: 'balance_below', threshold_usd: '1e3' }, 'threshold_usd'],
    [{ ...to, kind: 'key_expires' }, 'days'],
    [{ ...to, kind: 'key_expires', days: 91 }, 'days'],
    [{ ...to, kind: 'key_limit_used', percent: 0 }, 'percent'],
    [{ ...to, kind: 'key_limit_used', percent: 50, key_id: 'key_south' }, 'key_id'],
    [{ kind: 'key_limit_used', percent: 50, emails: [], webhook_ids: [] }, 'emails'],
    [{ kind: 'key_limit_used', percent: 50, emails: ['eve@example.com'], webhook_ids: [] }, 'emails'],
    [{ kind: 'key_limit_used', percent: 50, emails: [], webhook_ids: ['hook_x'] }, 'webhook_ids'],
  ]
  for (const [body, field] of wrong) {
    const { status, body: answer } = await ann.post(`${NORTH}/alerts`, body)
    expect([body, status, (answer['error'] as { field?: string }).field]).toEqual([body, 400, field])
  }
  expect((await ann.post(`${NORTH}/alerts`, { ...to, kind: 'key_limit_used', percent: 50, key_id: 'key_north' })).status).toBe(201)
  for (const url of ['http://example.com/', 'https://10.0.0.1/', 'https://[::1]/', 'https://u:p@example.com/', 'x', ''])
    expect([url, (await ann.post(`${NORTH}/webhooks`, { url })).body['error']]).toMatchObject([url, { field: 'url' }])
  const hook = await ann.post(`${NORTH}/webhooks`, { url: 'https://hooks.example.com/' })
  expect(hook.status).toBe(201)
  expect((await ann.send('PATCH', `${NORTH}/webhooks/${idOf(hook)}`, { url: 'https://127.1/' })).status).toBe(400)
})

test('the test button tries the receivers, a few times a minute', async () => {
  const started = await start()
  const ann = await signIn(started, 'ann@example.com')
  const hook = idOf(await ann.post(`${NORTH}/webhooks`, { url: hookAt(started) }))
  const alert = idOf(
    await ann.post(`${NORTH}/alerts`, { kind: 'balance_below', threshold_usd: '0.1', emails: ['ann@example.com'], webhook_ids: [hook] }),
  )
  const tried = await ann.post(`${NORTH}/alerts/${alert}/test`, {})
  expect(tried.status).toBe(202)
  await until(() => started.receiver.received.length === 1 && started.smtp.letters.length === 1)
  expect(started.receiver.received[0]).toMatchObject({ id: tried.body['event_id'] })
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await ann.post(`${NORTH}/webhooks/${hook}/test`, {})).status)
  expect(statuses).toEqual([202, 202, 202, 202, 202, 429])
})

test('without mail an alert can go to webhooks only, and the page is told so', async () => {
  const smtp = startSmtp()
  const gateway = await startTestGateway({ allowPrivate: true })
  stops.push(
    () => smtp.stop(),
    () => gateway.stop(),
  )
  await gateway.createKey({ id: 'key_north' })
  const ann = await signIn({ gateway } as Started, 'ann@example.com')
  expect((await ann.get(`${NORTH}/alerts`)).body).toMatchObject({ data: [], emails: [], sends_mail: false, alerts_max: 20 })
  const { status, body } = await ann.post(`${NORTH}/alerts`, {
    kind: 'balance_below',
    threshold_usd: '1',
    emails: ['ann@example.com'],
    webhook_ids: [],
  })
  expect([status, body['error']]).toEqual([400, { message: 'This gateway sends no mail; choose a webhook', field: 'emails' }])
})
