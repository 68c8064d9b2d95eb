/**
 * What Stripe tells becomes money once and only once: forged, repeated, shuffled and parallel events, partial refunds, disputes, other currencies. The real package
 * talks to a server that stands for Stripe. Rules: pages.md "Stripe".
 */

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { newId } from '../../src/ledger/operations/new-id.ts'
import { openReport } from '../../src/ledger/report.ts'
import { makeLog } from '../../src/observe/log.ts'
import { makeMetrics, type PaymentResult } from '../../src/observe/metrics.ts'
import { Payments } from '../../src/payments/payments.ts'
import { StripeApi } from '../../src/payments/stripe-api.ts'
import {
  bodyOf,
  chargeEvent,
  disputeEvent,
  type FakeEvent,
  type FakePayment,
  type FakeRefund,
  type FakeStripe,
  refundEvent,
  SECRETS,
  sessionEvent,
  signatureOf,
  startFakeStripe,
} from '../support/fake-stripe.ts'
import { makePath, NOW, openTestLedger, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

let stripe: FakeStripe
let ledger: Ledger
const path = makePath()
let payments: Payments
let metrics: ReturnType<typeof makeMetrics>
let alarms: string[]
let accounts = 0
/** Ids sort by time: no two credits in one millisecond. */
let ticks = 0

beforeAll(async () => {
  stripe = startFakeStripe()
  ledger = (await openTestLedger({ path })).ledger
})
beforeEach(() => {
  alarms = []
  metrics = makeMetrics()
  const write = (line: string): void => {
    const { alarm, problem } = JSON.parse(line) as { alarm?: string; problem?: string }
    if (alarm !== undefined) alarms.push(problem ?? alarm)
  }
  payments = new Payments({ ledger, log: makeLog({ write }), metrics, now: () => NOW + ticks++, secrets: SECRETS, address: stripe.address })
})
afterAll(async () => {
  await ledger.close()
  stripe.stop()
})

async function makeAccount(): Promise<string> {
  const accountId = `acc_${accounts++}`
  expect(await ledger.operate({ kind: 'createAccount', accountId, name: '', topUp: null, now: NOW })).toEqual({ result: 'done' })
  return accountId
}

const send = (sent: FakeEvent): Promise<PaymentResult> => {
  const body = bodyOf(sent)
  return payments.receive(body, signatureOf(body), '192.0.2.1')
}

function creditsOf(accountId: string) {
  const report = openReport({ kind: 'sqlite', path })
  if ('problem' in report) throw new Error(report.message)
  const page = report.lists.credits({ accountId, ref: undefined, from: undefined, to: undefined, after: undefined, limit: 1000 })
  const account = report.accounts.account(accountId)
  report.close()
  if ('problem' in account) throw new Error(account.message)
  return { balancePicos: account.balancePicos, rows: page.rows.toReversed() }
}

/** Made known to Stripe. */
function paid(payment: FakePayment): FakePayment {
  stripe.payments.set(payment.id, payment)
  return payment
}

function refunded(refund: FakeRefund): FakeRefund {
  stripe.refunds.push(refund)
  return refund
}

test('a page to pay on is asked for with the account, the person and whole cents in dollars', async () => {
  const order = {
    accountId: 'acc_x',
    person: 'ann@example.com',
    cents: 2_550,
    paidUrl: 'https://us.example/paid',
    cancelUrl: 'https://us.example/no',
  }
  expect(await payments.checkout(order)).toEqual({ url: `https://pay.example/${stripe.orders.length}` })
  expect(Object.fromEntries(stripe.orders.at(-1) ?? [])).toEqual({
    mode: 'payment',
    client_reference_id: 'acc_x',
    customer_email: 'ann@example.com',
    'metadata[tollgate_account_id]': 'acc_x',
    'metadata[tollgate_person]': 'ann@example.com',
    'payment_intent_data[metadata][tollgate_account_id]': 'acc_x',
    'payment_intent_data[metadata][tollgate_person]': 'ann@example.com',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'usd',
    'line_items[0][price_data][unit_amount]': '2550',
    'line_items[0][price_data][product_data][name]': 'Balance top-up',
    'adaptive_pricing[enabled]': 'false',
    success_url: 'https://us.example/paid',
    cancel_url: 'https://us.example/no',
  })
  stripe.failWith(402)
  expect(await payments.checkout(order)).toBe('unavailable')
  stripe.failWith(undefined)
  expect(alarms).toEqual(['Stripe gives no page to pay on'])
})

test('a payment is one top-up under its own reference, by the actor stripe; told again it changes nothing', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_one', accountId, cents: 2_500 })
  expect(await send(sessionEvent(payment))).toBe('booked')
  expect(await send(sessionEvent(payment))).toBe('already')
  expect(await send(sessionEvent(payment, {}, 'checkout.session.async_payment_succeeded'))).toBe('already')
  expect(creditsOf(accountId).rows).toMatchObject([
    {
      kind: 'top-up',
      amountPicos: usd('25'),
      ref: 'stripe:pi_one',
      actor: 'stripe',
      reason: 'checkout.session.completed evt_checkout.session.completed_cs_pi_one',
    },
  ])
  expect(await metrics.render()).toContain('tollgate_payment_events_total{type="checkout.session.completed",result="booked"} 1')
  expect(alarms).toEqual([])
})

test('50 deliveries at once are one credit', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_fifty', accountId, cents: 700 })
  const results = await Promise.all(Array.from({ length: 50 }, () => send(sessionEvent(payment))))
  expect(results.filter((result) => result === 'booked')).toHaveLength(1)
  expect(results.filter((result) => result === 'already')).toHaveLength(49)
  expect(creditsOf(accountId).balancePicos).toBe(usd('7'))
})

test('what Stripe did not sign, or not now, changes nothing', async () => {
  const accountId = await makeAccount()
  const body = bodyOf(sessionEvent(paid({ id: 'pi_forged', accountId, cents: 100 })))
  const seconds = Math.floor(Date.now() / 1000)
  const good = signatureOf(body, SECRETS.webhookSecret, seconds)
  for (const signature of [
    '',
    'nonsense',
    good.replace(/v1=./, (start) => (start.endsWith('0') ? 'v1=1' : 'v1=0')),
    good.replace('v1=', 'v0='),
    good.replace(/t=\d+/, `t=${seconds - 1}`),
    signatureOf(body, 'whsec_another'),
    signatureOf(body, SECRETS.webhookSecret, seconds - 310),
    signatureOf(bodyOf(sessionEvent({ id: 'pi_forged', accountId, cents: 200 }))),
  ]) {
    expect(await payments.receive(body, signature, ''), signature).toBe('forged')
  }
  const noEvent = Buffer.from('{"object":')
  expect(await payments.receive(noEvent, signatureOf(noEvent), '')).toBe('forged')
  expect(creditsOf(accountId).rows).toEqual([])
  expect(await metrics.render()).toContain('tollgate_payment_events_total{type="none",result="forged"} 9')
  expect(await payments.receive(body, `${signatureOf(body, 'whsec_old', seconds)},${good.replace(/^t=\d+,/, '')}`, '')).toBe('booked')
})

test('what is not of our sessions, not paid yet or of another account of Stripe’s is ignored', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_other', accountId, cents: 100 })
  const foreign = paid({ id: 'pi_foreign', cents: 100 })
  for (const sent of [
    // Of a payment link, into whose address anybody may write a reference.
    sessionEvent(payment, { metadata: {} }),
    sessionEvent(payment, { client_reference_id: 'acc_0' }),
    sessionEvent(payment, { mode: 'subscription' }),
    sessionEvent(payment, { payment_status: 'unpaid' }),
    sessionEvent(payment, { payment_status: 'no_payment_required' }),
    { ...sessionEvent(payment), account: 'acct_connected' },
    { ...sessionEvent(payment), type: 'invoice.paid' },
    refundEvent({ id: 're_foreign', paymentId: foreign.id, cents: 100 }),
    refundEvent({ id: 're_unknown', paymentId: 'pi_unknown', cents: 100 }),
    chargeEvent(foreign.id),
    refundEvent({ id: 're_unpaid', paymentId: paid({ id: 'pi_unpaid', accountId, cents: 100, status: 'processing' }).id, cents: 100 }),
    disputeEvent({ id: 'dp_question', paymentId: payment.id, cents: 100, status: 'warning_needs_response' }),
    disputeEvent({ id: 'dp_prevented', paymentId: payment.id, cents: 100, status: 'prevented' }),
  ]) {
    expect(await send(sent), JSON.stringify(sent)).toBe('ignored')
  }
  expect(creditsOf(accountId).rows).toEqual([])
  expect(alarms).toEqual([])
  expect(await metrics.render()).toContain('{type="other",result="ignored"} 1')
})

test('what cannot be booked is an alarm: another currency, no amount, too much, no such account', async () => {
  const accountId = await makeAccount()
  const wrong: FakePayment[] = [
    { id: 'pi_eur', accountId, cents: 100, currency: 'eur' },
    { id: 'pi_zero', accountId, cents: 0 },
    { id: 'pi_negative', accountId, cents: -100 },
    { id: 'pi_half', accountId, cents: 0.5 },
    { id: 'pi_huge', accountId, cents: 900_000_001 },
    { id: 'pi_endless', accountId, cents: Number.MAX_SAFE_INTEGER },
    { id: 'pi_nowhere', accountId: 'acc_nowhere', cents: 100 },
  ]
  for (const payment of wrong) {
    expect(await send(sessionEvent(paid(payment))), payment.id).toBe('refused')
    // Nothing is taken of what was never given.
    expect(await send(refundEvent({ id: `re_${payment.id}`, paymentId: payment.id, cents: 50 })), payment.id).toBe('refused')
  }
  expect(alarms).toHaveLength(2 * wrong.length)
  const payment = paid({ id: 'pi_mixed', accountId, cents: 100 })
  expect(await send(refundEvent({ id: 're_eur', paymentId: payment.id, cents: 50, currency: 'eur' }))).toBe('refused')
  expect(await send(sessionEvent({ ...payment, cents: 1_000 }))).toBe('refused')
  expect(creditsOf(accountId).balancePicos).toBe(usd('1'))
})

test('a refund is taken once, part by part, whatever is left; one that failed is given again', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_parts', accountId, cents: 1_000 })
  await send(sessionEvent(payment))
  const first = refunded({ id: 're_1', paymentId: payment.id, cents: 300, status: 'pending' })
  const second = refunded({ id: 're_2', paymentId: payment.id, cents: 700 })
  expect(await send(refundEvent(first))).toBe('booked')
  expect(await send(refundEvent({ ...first, status: 'succeeded' }, 'refund.updated'))).toBe('already')
  // What was spent meanwhile does not keep the rest from being taken.
  await ledger.operate({
    kind: 'credit',
    creditKind: 'correction',
    creditId: newId('crd', NOW + ticks++),
    accountId,
    amountPicos: usd('-5'),
    ref: '',
    now: NOW,
  })
  expect(await send(chargeEvent(payment.id))).toBe('booked')
  expect(await send(refundEvent(second))).toBe('already')
  expect(creditsOf(accountId)).toMatchObject({
    balancePicos: usd('-5'),
    rows: [
      { kind: 'top-up' },
      { kind: 'refund', amountPicos: usd('-3'), ref: 'stripe:re_1' },
      { kind: 'correction' },
      { kind: 'refund', amountPicos: usd('-7'), ref: 'stripe:re_2' },
    ],
  })
  expect(await send(refundEvent({ ...second, status: 'failed' }, 'refund.failed'))).toBe('booked')
  expect(creditsOf(accountId).rows.at(-1)).toMatchObject({ kind: 'correction', amountPicos: usd('7'), ref: 'stripe:re_2:failed' })
})

test('a refund whose failure is told first takes nothing, also when its start is told later', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_backwards', accountId, cents: 1_000 })
  const refund = { id: 're_backwards', paymentId: payment.id, cents: 400 }
  expect(await send(refundEvent({ ...refund, status: 'canceled' }, 'refund.updated'))).toBe('booked')
  expect(creditsOf(accountId).balancePicos).toBe(usd('10'))
  expect(await send(refundEvent({ ...refund, status: 'pending' }))).toBe('already')
  expect(creditsOf(accountId).balancePicos).toBe(usd('10'))
})

test('a dispute takes the money away, and one that is won gives it again', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_dispute', accountId, cents: 1_000 })
  await send(sessionEvent(payment))
  const dispute = { id: 'dp_1', paymentId: payment.id, cents: 1_000 }
  expect(await send(disputeEvent({ ...dispute, status: 'warning_needs_response' }))).toBe('ignored')
  expect(await send(disputeEvent({ ...dispute, status: 'needs_response' }, 'charge.dispute.funds_withdrawn'))).toBe('booked')
  expect(creditsOf(accountId).balancePicos).toBe(usd('0'))
  expect(await send(disputeEvent({ ...dispute, status: 'won' }, 'charge.dispute.closed'))).toBe('booked')
  expect(await send(disputeEvent({ ...dispute, status: 'won' }, 'charge.dispute.funds_reinstated'))).toBe('already')
  expect(creditsOf(accountId).balancePicos).toBe(usd('10'))
})

test('while Stripe or the ledger cannot answer an event is asked for again, and then it is done', async () => {
  const accountId = await makeAccount()
  const payment = paid({ id: 'pi_later', accountId, cents: 100 })
  stripe.failWith(500)
  expect(await send(refundEvent({ id: 're_later', paymentId: payment.id, cents: 40 }))).toBe('unavailable')
  stripe.failWith(undefined)
  const [working, parts] = [
    payments,
    { log: makeLog({ write: () => undefined }), metrics, now: () => NOW + ticks++, secrets: SECRETS, address: stripe.address },
  ]
  const broken = { ...ledger, operate: () => Promise.resolve({ result: 'unavailable' as const }) } as unknown as Ledger
  payments = new Payments({ ...parts, ledger: broken })
  expect(await send(sessionEvent(payment))).toBe('unavailable')
  payments = working
  expect(await send(refundEvent({ id: 're_later', paymentId: payment.id, cents: 40 }))).toBe('booked')
  expect(await send(sessionEvent(payment))).toBe('already')
  expect(creditsOf(accountId).balancePicos).toBe(usd('0.6'))
})

const part = fc.record({
  kind: fc.constantFrom('refund', 'failed refund', 'lost dispute', 'won dispute', 'question'),
  share: fc.integer({ min: 1, max: 40 }),
})
const history = fc.array(
  fc.record({ cents: fc.integer({ min: 50, max: 100_000 }), parts: fc.array(part, { maxLength: 3 }), isAsync: fc.boolean() }),
  { minLength: 1, maxLength: 3 },
)

test('in whichever order, however often and at once events come, the balance is what was paid less what was taken back', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(history, fc.infiniteStream(fc.nat(1_000)), async (payeds, choices) => {
      const accountId = await makeAccount()
      const events: FakeEvent[] = []
      let cents = 0
      run++
      payeds.forEach((one, index) => {
        const payment = paid({ id: `pi_${run}_${index}`, accountId, cents: one.cents })
        cents += one.cents
        if (one.isAsync) events.push(sessionEvent(payment, { payment_status: 'unpaid' }))
        events.push(sessionEvent(payment, {}, one.isAsync ? 'checkout.session.async_payment_succeeded' : 'checkout.session.completed'))
        one.parts.forEach(({ kind, share }, place) => {
          const of = { id: `${run}_${index}_${place}`, paymentId: payment.id, cents: Math.max(1, Math.floor((one.cents * share) / 150)) }
          const refund = { ...of, id: `re_${of.id}` }
          const dispute = { ...of, id: `dp_${of.id}` }
          switch (kind) {
            case 'refund':
              refunded(refund)
              cents -= of.cents
              events.push(refundEvent({ ...refund, status: 'pending' }), refundEvent(refund, 'refund.updated'), chargeEvent(payment.id))
              return
            case 'failed refund':
              refunded({ ...refund, status: 'failed' })
              events.push(refundEvent(refund), refundEvent({ ...refund, status: 'failed' }, 'refund.failed'), chargeEvent(payment.id))
              return
            case 'lost dispute':
              cents -= of.cents
              events.push(
                disputeEvent({ ...dispute, status: 'needs_response' }),
                disputeEvent({ ...dispute, status: 'lost' }, 'charge.dispute.closed'),
              )
              return
            case 'won dispute':
              events.push(
                disputeEvent({ ...dispute, status: 'needs_response' }, 'charge.dispute.funds_withdrawn'),
                disputeEvent({ ...dispute, status: 'won' }, 'charge.dispute.closed'),
              )
              return
            case 'question':
              events.push(disputeEvent({ ...dispute, status: 'warning_closed' }, 'charge.dispute.closed'))
          }
        })
      })
      const choice = (): number => choices.next().value ?? 0
      const shuffled = [...events, ...events.filter(() => choice() < 500)]
        .map((sent) => ({ sent, place: choice() }))
        .sort((a, b) => a.place - b.place)
        .map(({ sent }) => sent)
      while (shuffled.length > 0) {
        const together = shuffled.splice(0, 1 + (choice() % 5))
        const results = await Promise.all(together.map(send))
        expect(results.filter((result) => !['booked', 'already', 'ignored'].includes(result))).toEqual([])
      }
      const { balancePicos } = creditsOf(accountId)
      expect(balancePicos as bigint).toBe(BigInt(cents) * 10_000_000_000n)
    }),
    { numRuns: runs(15) },
  )
  expect(alarms).toEqual([])
}, 180_000)

test('after all of that the books are right', () => {
  const report = openReport({ kind: 'sqlite', path })
  if ('problem' in report) throw new Error(report.message)
  expect(report.verify()).toEqual([])
  report.close()
})

test('what talks to Stripe is loaded once, before it is needed; a load that failed is tried again', async () => {
  const accountId = await makeAccount()
  let loads = 0
  const late = new Payments({
    ledger,
    log: makeLog({ write: () => undefined }),
    metrics,
    now: () => NOW + ticks++,
    secrets: SECRETS,
    load: (secrets) => (++loads === 1 ? Promise.reject(new Error('no disk')) : Promise.resolve(new StripeApi(secrets, stripe.address))),
  })
  await late.prepare()
  const body = bodyOf(sessionEvent({ id: 'pi_late', accountId, cents: 500 }))
  expect([loads, await late.receive(body, signatureOf(body), '')]).toEqual([1, 'booked'])
  await late.prepare()
  expect(await late.receive(body, signatureOf(body), '')).toBe('already')
  expect(loads).toBe(2)
})
