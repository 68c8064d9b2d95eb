/**
 * Payments by Stripe: a page to pay on, and events that become credits. Each credit is booked once, however often and in whatever order the events come. Rules:
 * pages.md "Stripe"; operator.md "Credits", "Audit".
 */

import { type Picos, picos } from '../core/money.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Act, Operation } from '../ledger/operation.ts'
import { newId } from '../ledger/operations/new-id.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics, PaymentResult } from '../observe/metrics.ts'
import type { CheckoutOrder, StripeAddress, StripeApi } from './stripe-api.ts'
import { EVENT_TYPES, type Payment, readStripeEvent, refOf, type StripeEvent, type Taking } from './stripe-event.ts'

export type PaymentsParts = Readonly<{
  ledger: Ledger
  log: Log
  metrics: Metrics
  /** Unix milliseconds. */
  now: () => number
  secrets: Readonly<{ secretKey: string; webhookSecret: string }>
  address?: StripeAddress
  /** Default: loads Stripe's package. */
  load?: (secrets: Readonly<{ secretKey: string; webhookSecret: string }>, address?: StripeAddress) => Promise<StripeApi>
}>

/** A credit that an event asks for. */
type Credit = Readonly<{ ref: string; creditKind: 'top-up' | Taking['creditKind']; amount: number; currency: string }>

/** The type under which bodies that Stripe did not sign are counted. */
const FORGED = 'none'
const PICOS_PER_CENT = 10_000_000_000n

export class Payments {
  readonly #parts: PaymentsParts
  #api: Promise<StripeApi> | undefined

  constructor(parts: PaymentsParts) {
    this.#parts = parts
  }

  /** The address of a page to pay on. `unavailable`: Stripe gave none. */
  async checkout(order: CheckoutOrder): Promise<Readonly<{ url: string }> | 'unavailable'> {
    try {
      return { url: await (await this.#loaded()).createCheckout(order) }
    } catch (error) {
      this.#parts.log.alarm('Stripe gives no page to pay on', describe(error))
      return 'unavailable'
    }
  }

  /**
   * Takes an event as Stripe sent it, with its `stripe-signature`. `forged`: the event changes nothing. `unavailable`: Stripe is to send it again. With any other
   * result the event is done; a `refused` one raises an alarm.
   */
  async receive(body: Uint8Array, signature: string, address: string): Promise<PaymentResult> {
    const api = await this.#loaded()
    const event = await api.eventOf(body, signature)
    if (event === undefined) return this.#count(FORGED, 'forged')
    const act = { actor: 'stripe', address, reason: `${event.type} ${event.id}` }
    try {
      const credits = await creditsOf(readStripeEvent(event), api)
      return this.#count(event.type, credits === undefined ? 'ignored' : await this.#book(credits, act))
    } catch (error) {
      this.#parts.log.notice('Stripe was asked about an event and did not answer', { event: event.id, ...describe(error) })
      return this.#count(event.type, 'unavailable')
    }
  }

  /** Books one credit after another: an amount that is taken back of a payment comes after the payment. */
  async #book({ accountId, credits }: CreditsOfAccount, act: Act): Promise<PaymentResult> {
    let result: PaymentResult = 'already'
    for (const credit of credits) {
      const amountPicos = picosOf(credit)
      const answer =
        amountPicos === undefined
          ? ({ result: 'refused', problem: `${credit.amount} ${credit.currency} is no amount of US cents` } as const)
          : await this.#parts.ledger.operate(this.#operation(accountId, credit, amountPicos), act)
      if (answer.result === 'unavailable') return 'unavailable'
      if (answer.result === 'refused') {
        this.#parts.log.alarm('a payment by Stripe cannot be booked', {
          account: accountId,
          ref: credit.ref,
          event: act.reason,
          problem: answer.problem,
        })
        return 'refused'
      }
      if (answer.earlier === undefined) result = 'booked'
    }
    return result
  }

  #operation(accountId: string, { creditKind, ref }: Credit, amountPicos: Picos): Operation {
    const now = this.#parts.now()
    return { kind: 'credit', creditKind, creditId: newId('crd', now), accountId, amountPicos, ref, isPaidOut: creditKind === 'refund', now }
  }

  #count(type: string, result: PaymentResult): PaymentResult {
    this.#parts.metrics.paymentEvent(EVENT_TYPES.has(type) || type === FORGED ? type : 'other', result)
    return result
  }

  /**
   * Loads Stripe's package soon after the start and not with the first payment: run from source, that takes some 50 ms in which nothing else runs. A failed load is
   * tried again when the package is needed.
   */
  async prepare(): Promise<void> {
    try {
      await this.#loaded()
    } catch (error) {
      this.#parts.log.notice('what talks to Stripe did not load', describe(error))
    }
  }

  #loaded(): Promise<StripeApi> {
    this.#api ??= this.#load()
    return this.#api
  }

  async #load(): Promise<StripeApi> {
    const { secrets, address, load = loadStripe } = this.#parts
    try {
      return await load(secrets, address)
    } catch (error) {
      this.#api = undefined
      throw error
    }
  }
}

const loadStripe: NonNullable<PaymentsParts['load']> = async (secrets, address) => {
  const { StripeApi } = await import('./stripe-api.ts')
  return new StripeApi(secrets, address)
}

type CreditsOfAccount = Readonly<{ accountId: string; credits: readonly Credit[] }>

/** The credits for an amount that was taken back begin with the payment itself: if the payment's own event comes later, its credit is booked already. */
async function creditsOf(event: StripeEvent, api: StripeApi): Promise<CreditsOfAccount | undefined> {
  switch (event.kind) {
    case 'nothing':
      return undefined
    case 'paid':
      return creditsOn(event.payment, [])
    case 'taken':
      return creditsOn(await api.payment(event.paymentId), event.takings)
    case 'refunded':
      return creditsOn(await api.payment(event.paymentId), await api.refundsOf(event.chargeId))
  }
}

function creditsOn(payment: Payment | undefined, takings: readonly Taking[]): CreditsOfAccount | undefined {
  if (payment === undefined) return undefined
  const { id, accountId, amount, currency } = payment
  return { accountId, credits: [{ ref: refOf(id), creditKind: 'top-up', amount, currency }, ...takings] }
}

/** Undefined: the amount is not in dollars, or not in whole cents. */
function picosOf({ amount, currency }: Credit): Picos | undefined {
  return currency === 'usd' && Number.isSafeInteger(amount) ? picos(BigInt(amount) * PICOS_PER_CENT) : undefined
}

/** Leaves the error's message out, which may repeat what Stripe was sent. */
const describe = (error: unknown): Readonly<Record<string, string>> => {
  const { type, code } = error as Readonly<{ type?: unknown; code?: unknown }>
  return { error: String(type ?? (error instanceof Error ? error.name : 'unknown')), ...(typeof code === 'string' ? { code } : {}) }
}
