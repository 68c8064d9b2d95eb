/**
 * The part of Stripe that we use: a page to pay on, the payment behind a refund, the signature of an event. Stripe's package is loaded soon after the start, and talks
 * by `fetch`. Rules: pages.md "Stripe". Source: https://docs.stripe.com/api.
 */

import { Stripe } from 'stripe'
import { hasMailbox } from '../people/memberships.ts'
import { ACCOUNT_FIELD, type Payment, paymentOf, type Taking, takingsOfRefund } from './stripe-event.ts'

/** Another server than Stripe, for tests. */
export type StripeAddress = Readonly<{ protocol: 'http' | 'https'; host: string; port: number }>

export type CheckoutOrder = Readonly<{
  accountId: string
  /** The payer's e-mail. */
  person: string
  /** Whole cents. */
  cents: number
  /** The address to which the browser returns, whether the person has paid or not. */
  paidUrl: string
  cancelUrl: string
}>

const TIMEOUT_MS = 20_000
/** An event is refused when it was signed longer ago: https://docs.stripe.com/webhooks#replay-attacks. */
const TOLERANCE_SECONDS = 300
const REFUNDS_MAX = 100

export class StripeApi {
  readonly #stripe: Stripe
  readonly #webhookSecret: string

  constructor(secrets: Readonly<{ secretKey: string; webhookSecret: string }>, address?: StripeAddress) {
    const httpClient = Stripe.createFetchHttpClient()
    this.#stripe = new Stripe(secrets.secretKey, { httpClient, timeout: TIMEOUT_MS, maxNetworkRetries: 1, telemetry: false, ...address })
    this.#webhookSecret = secrets.webhookSecret
  }

  /** The address of the page to pay on. */
  async createCheckout({ accountId, person, cents, paidUrl, cancelUrl }: CheckoutOrder): Promise<string> {
    const metadata = { [ACCOUNT_FIELD]: accountId, tollgate_person: person }
    const session = await this.#stripe.checkout.sessions.create({
      mode: 'payment',
      client_reference_id: accountId,
      // Stripe writes to the address, and lets the person type another where there is none.
      ...(hasMailbox(person) ? { customer_email: person } : {}),
      metadata,
      payment_intent_data: { metadata },
      line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: cents, product_data: { name: 'Balance top-up' } } }],
      adaptive_pricing: { enabled: false },
      success_url: paidUrl,
      cancel_url: cancelUrl,
    })
    if (session.url === null) throw new Error('a session without an address')
    return session.url
  }

  /** Undefined: there is no such payment, it is none of ours, or nothing was paid. */
  async payment(id: string): Promise<Payment | undefined> {
    try {
      return paymentOf(await this.#stripe.paymentIntents.retrieve(id))
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404) return undefined
      throw error
    }
  }

  async refundsOf(chargeId: string): Promise<readonly Taking[]> {
    const refunds = await this.#stripe.refunds.list({ charge: chargeId, limit: REFUNDS_MAX })
    return refunds.data.flatMap(takingsOfRefund)
  }

  /** Undefined: Stripe did not sign this body, or signed it too long ago. */
  async eventOf(body: Uint8Array, signature: string): Promise<Stripe.Event | undefined> {
    try {
      return await this.#stripe.webhooks.constructEventAsync(body, signature, this.#webhookSecret, TOLERANCE_SECONDS)
    } catch {
      return undefined
    }
  }
}
