/** `POST /webhooks/stripe` on a whole gateway: there only where Stripe is configured, bounded, and answered so that Stripe repeats what may yet be done. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { parseUsd, ZERO } from '../../src/core/money.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { bodyOf, type FakeStripe, refundEvent, SECRETS, sessionEvent, signatureOf, startFakeStripe } from '../support/fake-stripe.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

const BOUNDS = { minPicos: parseUsd('5') ?? ZERO, maxPicos: parseUsd('500') ?? ZERO }

let stripe: FakeStripe
let gateway: TestGateway
let isWritable = true
beforeAll(async () => {
  stripe = startFakeStripe()
  const wrapLedger = (ledger: Ledger): Ledger =>
    new Proxy(ledger, {
      get: (target, name) => {
        if (name === 'operate' && !isWritable) return () => Promise.resolve({ result: 'unavailable' })
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  const payments = { text: undefined, stripe: { ...SECRETS, ...BOUNDS } }
  gateway = await startTestGateway({ payments, stripeAddress: stripe.address, wrapLedger })
})
afterAll(async () => {
  await gateway.stop()
  stripe.stop()
})

const post = (to: TestGateway, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${to.url}/webhooks/stripe`, { method: 'POST', body, headers })
const tell = (sent: Parameters<typeof bodyOf>[0]) => {
  const body = bodyOf(sent)
  return post(gateway, body, { 'stripe-signature': signatureOf(body) })
}

test('a payment is on the account, and can be spent, before Stripe is answered', async () => {
  const secret = await gateway.createKey({ id: 'key_pay', balanceUsd: '1' })
  const payment = { id: 'pi_1', accountId: 'acc_pay', cents: 1_000 }
  stripe.payments.set(payment.id, payment)
  const balance = async () => {
    const answer = await fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${secret}` } })
    return ((await answer.json()) as { balance_usd: number }).balance_usd
  }
  expect(await balance()).toBe(1)
  const answer = await tell(sessionEvent(payment))
  expect([answer.status, await answer.json()]).toEqual([200, { result: 'booked' }])
  expect(await balance()).toBe(11)
  expect(await (await tell(sessionEvent(payment))).json()).toEqual({ result: 'already' })
  expect(await (await tell(refundEvent({ id: 're_1', paymentId: 'pi_1', cents: 400 }))).json()).toEqual({ result: 'booked' })
  expect(await balance()).toBe(7)
  expect(gateway.verify()).toEqual([])
})

test('while the ledger cannot write Stripe is told to come again', async () => {
  const payment = { id: 'pi_2', accountId: 'acc_pay', cents: 1_000 }
  isWritable = false
  expect((await tell(sessionEvent(payment))).status).toBe(503)
  isWritable = true
  expect(await (await tell(sessionEvent(payment))).json()).toEqual({ result: 'booked' })
})

test('what is forged or too large is refused, and nothing of it is in the log', async () => {
  const body = bodyOf(sessionEvent({ id: 'pi_secret_3', accountId: 'acc_pay', cents: 1_000 }))
  expect((await post(gateway, body)).status).toBe(400)
  expect((await post(gateway, body, { 'stripe-signature': signatureOf(body, 'whsec_other') })).status).toBe(400)
  expect((await post(gateway, '')).status).toBe(400)
  const large = Buffer.alloc(256 * 1024 + 1, ' ')
  expect((await post(gateway, large, { 'stripe-signature': signatureOf(large) })).status).toBe(413)
  const full = Buffer.concat([body, Buffer.alloc(256 * 1024 - body.length, ' ')])
  expect((await post(gateway, full, { 'stripe-signature': signatureOf(full) })).status).toBe(200)
  const log = JSON.stringify(gateway.logLines())
  for (const hidden of ['pi_secret_3', SECRETS.secretKey, SECRETS.webhookSecret]) expect(log).not.toContain(hidden)
})

test('only POST, only where Stripe is configured, and not in the API’s description', async () => {
  expect((await fetch(`${gateway.url}/webhooks/stripe`)).status).toBe(404)
  expect(await (await fetch(`${gateway.url}/openapi.json`)).text()).not.toContain('webhooks/stripe')
  await using bare = await startTestGateway()
  const answer = await post(bare, '{}')
  expect([answer.status, await answer.json()]).toMatchObject([404, { error: { message: 'The requested API endpoint does not exist' } }])
})
