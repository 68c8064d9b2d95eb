/**
 * Reads what an event of Stripe's says about money. Pure, so that every order of events can be tested. Amounts are those of Stripe's own objects. Rules: pages.md
 * "Stripe". Source: https://docs.stripe.com/api/events/types.
 */

import type { Stripe } from 'stripe'

/** The metadata field that holds the account of a payment. Only the secret key can write metadata; a payment link's reference can be written by its visitor. */
export const ACCOUNT_FIELD = 'tollgate_account_id'

/** A payment for an account. `id`: that of the payment intent, or of the session where there is no intent. `amount`: in the currency's smallest unit. */
export type Payment = Readonly<{ id: string; accountId: string; amount: number; currency: string }>

/** An amount that was taken back of a payment, which is less than 0, or returned to it. `ref`: its unique reference. */
export type Taking = Readonly<{ ref: string; creditKind: 'refund' | 'correction'; amount: number; currency: string }>

export type StripeEvent =
  | Readonly<{ kind: 'paid'; payment: Payment }>
  | Readonly<{ kind: 'taken'; paymentId: string; takings: readonly Taking[] }>
  /** Refunds of a charge, which the event does not name one by one. */
  | Readonly<{ kind: 'refunded'; paymentId: string; chargeId: string }>
  /** An event of a session that is not ours, or one that moved no money. */
  | Readonly<{ kind: 'nothing' }>

/** Events that the operator subscribes to at Stripe, and labels of a metric. */
export const EVENT_TYPES: ReadonlySet<string> = new Set([
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
])

const NOTHING: StripeEvent = { kind: 'nothing' }

export function readStripeEvent(event: Stripe.Event): StripeEvent {
  // The event is of another Stripe account, one that is connected to the operator's.
  if (event.account !== undefined) return NOTHING
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return readSession(event.data.object)
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return takenFrom(event.data.object.payment_intent, takingsOfRefund(event.data.object))
    case 'charge.refunded': {
      const paymentId = idOf(event.data.object.payment_intent)
      return paymentId === undefined ? NOTHING : { kind: 'refunded', paymentId, chargeId: event.data.object.id }
    }
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return takenFrom(event.data.object.payment_intent, takingsOfDispute(event.data.object))
    default:
      return NOTHING
  }
}

/** The payment of a payment intent; undefined where it is none of ours, or nothing was paid. */
export function paymentOf({ id, status, metadata, amount_received: amount, currency }: Stripe.PaymentIntent): Payment | undefined {
  const accountId = metadata[ACCOUNT_FIELD]
  return accountId === undefined || status !== 'succeeded' ? undefined : { id, accountId, amount, currency }
}

/**
 * A refund counts from its start: the money has left the operator's balance, and must not be spent meanwhile. A refund that fails or is cancelled counts as a refund
 * and its return, so that it does not matter which of its events comes first, or whether both come.
 */
export function takingsOfRefund({ id, amount, currency, status }: Stripe.Refund): readonly Taking[] {
  const taken: Taking = { ref: refOf(id), creditKind: 'refund', amount: -amount, currency }
  if (status !== 'failed' && status !== 'canceled') return [taken]
  return [taken, { ref: refOf(`${id}:failed`), creditKind: 'correction', amount, currency }]
}

export const refOf = (id: string): string => `stripe:${id}`

function readSession({
  id,
  mode,
  metadata,
  client_reference_id,
  payment_status,
  payment_intent,
  ...session
}: Stripe.Checkout.Session): StripeEvent {
  const accountId = metadata?.[ACCOUNT_FIELD]
  if (mode !== 'payment' || accountId === undefined || accountId !== client_reference_id || payment_status !== 'paid') return NOTHING
  const payment = { id: idOf(payment_intent) ?? id, accountId, amount: session.amount_total ?? 0, currency: session.currency ?? '' }
  return { kind: 'paid', payment }
}

/** A dispute that is only a question of the bank's (`warning_…`) moves no money yet, and a dispute that was prevented never does. */
const WITHDRAWN = new Set<string>(['needs_response', 'under_review', 'lost', 'won', 'appeal_needs_response', 'appeal_under_review'])

function takingsOfDispute({ id, amount, currency, status }: Stripe.Dispute): readonly Taking[] {
  if (!WITHDRAWN.has(status)) return []
  const taken: Taking = { ref: refOf(id), creditKind: 'correction', amount: -amount, currency }
  return status === 'won' ? [taken, { ref: refOf(`${id}:won`), creditKind: 'correction', amount, currency }] : [taken]
}

function takenFrom(payment: string | Readonly<{ id: string }> | null, takings: readonly Taking[]): StripeEvent {
  const paymentId = idOf(payment)
  return paymentId === undefined || takings.length === 0 ? NOTHING : { kind: 'taken', paymentId, takings }
}

const idOf = (object: string | Readonly<{ id: string }> | null): string | undefined => (typeof object === 'object' ? object?.id : object)
