/**
 * A server that stands for Stripe, as its package meets it: pages to pay on, payments, refunds, and events signed as Stripe signs them
 * (https://docs.stripe.com/webhooks#verify-manually).
 */

import { createHmac } from 'node:crypto'
import type { StripeAddress } from '../../src/payments/stripe-api.ts'

export const SECRETS = { secretKey: 'sk_test_0123456789abcdefghij', webhookSecret: 'whsec_0123456789abcdefghij' }

export type FakePayment = Readonly<{ id: string; accountId?: string; cents: number; currency?: string; status?: string }>
export type FakeRefund = Readonly<{ id: string; paymentId: string; cents: number; currency?: string; status?: string }>
export type FakeDispute = Readonly<{ id: string; paymentId: string; cents: number; status: string }>
export type FakeEvent = Readonly<{ id: string; type: string; account?: string; data: { object: Record<string, unknown> } }>

export type FakeStripe = Readonly<{
  address: StripeAddress
  payments: Map<string, FakePayment>
  refunds: FakeRefund[]
  /** Of each page to pay on that was asked for. */
  orders: URLSearchParams[]
  /** What every question is answered, in place of what is asked for. */
  failWith(status: number | undefined): void
  stop(): void
}>

export function startFakeStripe(): FakeStripe {
  const payments = new Map<string, FakePayment>()
  const refunds: FakeRefund[] = []
  const orders: URLSearchParams[] = []
  let failure: number | undefined
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (request.headers.get('authorization') !== `Bearer ${SECRETS.secretKey}`) return problem(401, 'invalid_request_error')
      if (failure !== undefined) return problem(failure, 'api_error')
      const { pathname, searchParams } = new URL(request.url)
      if (request.method === 'POST' && pathname === '/v1/checkout/sessions') {
        const order = new URLSearchParams(await request.text())
        orders.push(order)
        return Response.json({ id: 'cs_1', object: 'checkout.session', url: `https://pay.example/${orders.length}` })
      }
      if (pathname === '/v1/refunds') {
        const paymentId = searchParams.get('charge')?.replace('ch_', '')
        return Response.json({
          object: 'list',
          has_more: false,
          data: refunds.filter((one) => one.paymentId === paymentId).map(refundObject),
        })
      }
      const payment = payments.get(pathname.replace('/v1/payment_intents/', ''))
      return payment === undefined ? problem(404, 'invalid_request_error') : Response.json(intentObject(payment))
    },
  })
  return {
    address: { protocol: 'http', host: '127.0.0.1', port: server.port ?? 0 },
    payments,
    refunds,
    orders,
    failWith: (status) => {
      failure = status
    },
    stop: () => void server.stop(true),
  }
}

const problem = (status: number, type: string): Response => Response.json({ error: { type, message: 'no' } }, { status })

const metadataOf = (accountId: string | undefined) => (accountId === undefined ? {} : { tollgate_account_id: accountId })

const intentObject = ({ id, accountId, cents, currency = 'usd', status = 'succeeded' }: FakePayment) => ({
  id,
  object: 'payment_intent',
  status,
  amount_received: cents,
  currency,
  metadata: metadataOf(accountId),
})

const refundObject = ({ id, paymentId, cents, currency = 'usd', status = 'succeeded' }: FakeRefund) => ({
  id,
  object: 'refund',
  amount: cents,
  currency,
  status,
  charge: `ch_${paymentId}`,
  payment_intent: paymentId,
})

const event = (type: string, object: Record<string, unknown>): FakeEvent => ({
  id: `evt_${type}_${String(object['id'])}`,
  type,
  data: { object },
})

export const sessionEvent = (
  { id, accountId, cents, currency = 'usd' }: FakePayment,
  more: Record<string, unknown> = {},
  type = 'checkout.session.completed',
): FakeEvent =>
  event(type, {
    id: `cs_${id}`,
    object: 'checkout.session',
    mode: 'payment',
    payment_status: 'paid',
    client_reference_id: accountId ?? null,
    metadata: metadataOf(accountId),
    payment_intent: id,
    amount_total: cents,
    currency,
    ...more,
  })

export const refundEvent = (refund: FakeRefund, type = 'refund.created'): FakeEvent => event(type, refundObject(refund))

export const chargeEvent = (paymentId: string): FakeEvent =>
  event('charge.refunded', { id: `ch_${paymentId}`, object: 'charge', payment_intent: paymentId, amount_refunded: 1, currency: 'usd' })

export const disputeEvent = ({ id, paymentId, cents, status }: FakeDispute, type = 'charge.dispute.created'): FakeEvent =>
  event(type, { id, object: 'dispute', amount: cents, currency: 'usd', status, charge: `ch_${paymentId}`, payment_intent: paymentId })

export const bodyOf = (sent: FakeEvent): Uint8Array<ArrayBuffer> =>
  Buffer.from(JSON.stringify({ object: 'event', livemode: false, ...sent }))

/** The header that comes with a body. `at`: Unix seconds. */
export function signatureOf(body: Uint8Array, secret = SECRETS.webhookSecret, at = Math.floor(Date.now() / 1000)): string {
  const mac = createHmac('sha256', secret).update(`${at}.`).update(body).digest('hex')
  return `t=${at},v1=${mac}`
}
