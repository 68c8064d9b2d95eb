/**
 * `POST /webhooks/stripe`: what Stripe tells of payments. The route exists only where Stripe is configured. The sender is known by the signature alone. Nothing of a
 * body is logged. Rules: pages.md "Stripe". Source: https://docs.stripe.com/webhooks.
 */

import { Elysia } from 'elysia'
import { boundedBytes } from '../core/bounded-bytes.ts'
import { describeBug } from '../observe/bug.ts'
import type { PaymentResult } from '../observe/metrics.ts'
import type { Payments } from '../payments/payments.ts'
import type { World } from '../world.ts'
import { Client } from './client-address.ts'

const BODY_BYTES_MAX = 256 * 1024

/** Stripe repeats an event for days until the answer is 2xx, so any other status is for events that may yet be booked. */
const STATUS: Readonly<Record<PaymentResult, number>> = {
  booked: 200,
  already: 200,
  ignored: 200,
  refused: 200,
  forged: 400,
  unavailable: 503,
}

export const stripeWebhook = (world: World, payments: Payments) =>
  new Elysia({ name: 'stripe webhook' }).post(
    '/webhooks/stripe',
    async ({ request, server }) => {
      try {
        const body = request.body === null ? new Uint8Array() : await boundedBytes(request.body, BODY_BYTES_MAX)
        if (body === undefined) return answer(413, 'too large')
        const address = new Client(world, request, server).ip
        const result = await payments.receive(body, request.headers.get('stripe-signature') ?? '', address)
        return answer(STATUS[result], result)
      } catch (bug) {
        world.log.alarm('an event of Stripe failed by a bug', describeBug(bug))
        return answer(500, 'failed')
      }
    },
    { parse: 'none', detail: { hide: true } },
  )

const answer = (status: number, result: string): Response => Response.json({ result }, { status, headers: { 'cache-control': 'no-store' } })
