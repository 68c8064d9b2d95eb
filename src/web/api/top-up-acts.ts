/** How people of an account top it up, in the cabinet and in its bot: by a code, or on a page to pay on. Rules: pages.md "Codes", "Stripe". */

import { parseUsd, toExactUsdText } from '../../core/money.ts'
import { readCode } from '../../core/prepaid-code.ts'
import { CODE_NOT_VALID, CODE_USED } from '../../ledger/operations/code-operations.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import type { Site } from '../site.ts'
import { missing, refuse, tooManyAttempts } from './answers.ts'
import type { Caller } from './caller.ts'

const CENT_PICOS = 10_000_000_000n

type Redeemed = Readonly<{
  credit_id: string
  amount_usd: string
  /** Whether the account had redeemed the code before, so that nothing was done now. */
  already: boolean
}>

/** Redeems codes. Wrong ones are counted for all accounts together: otherwise each account would be a fresh start for a client that guesses. */
export function redeemer({ world: { ledger, clock }, people }: Pick<Site, 'world' | 'people'>) {
  return async ({ actor, person, address }: Caller, accountId: string, typed: string): Promise<Redeemed | Response> => {
    const code = readCode(typed)
    if (code === undefined) return refuse(400, 'This is no code: compare each character', { field: 'code' })
    const guess = people().codeGuesses.begin(person.id, address, clock.monotonicMs())
    if ('refusedMs' in guess) return tooManyAttempts(guess.refusedMs)
    const now = clock.now()
    const creditId = newId('crd', now)
    const act = { actor, address, reason: '' }
    const answer = await ledger.operate({ kind: 'redeemCode', codeHash: hashOf(code), accountId, creditId, now }, act)
    if (answer.result === 'unavailable') {
      guess.isNone()
      return refuse(503, 'Nothing can be booked at this moment. Try again: a code is credited once', { retryAfterS: 1 })
    }
    if (answer.result === 'refused') {
      if (answer.problem === CODE_NOT_VALID) return refuse(400, 'This code is not valid', { field: 'code' })
      if (answer.problem === CODE_USED) return refuse(409, 'This code was used', { field: 'code' })
      guess.isNone()
      return refuse(409, 'This cannot be credited to the account: ask the operator of this gateway')
    }
    guess.isNone()
    const { earlier, redeemedPicos } = answer
    const amount = redeemedPicos === undefined ? '' : toExactUsdText(redeemedPicos)
    return { credit_id: earlier?.creditId ?? creditId, amount_usd: amount, already: earlier !== undefined }
  }
}

/** Makes the addresses of pages to pay on. */
export function cashier({ world: { clock }, people, payments, waysToPay }: Pick<Site, 'world' | 'people' | 'payments' | 'waysToPay'>) {
  return async ({ person }: Caller, accountId: string, amountUsd: string): Promise<Readonly<{ url: string }> | Response> => {
    const bounds = waysToPay().stripe
    if (payments === undefined || bounds === undefined) return missing()
    const amount = parseUsd(amountUsd)
    if (amount === undefined || amount < bounds.minPicos || amount > bounds.maxPicos || amount % CENT_PICOS !== 0n) {
      const [min, max] = [toExactUsdText(bounds.minPicos), toExactUsdText(bounds.maxPicos)]
      return refuse(400, `From $${min} to $${max}, in whole cents`, { field: 'amount_usd' })
    }
    const waitS = people().checkoutTurns.take(person.id, clock.monotonicMs())
    if (waitS > 0) return tooManyAttempts(waitS * 1_000)
    // The page waits for a credit after this moment.
    const page = `${people().origins('cabinet').base}/cabinet/a/${encodeURIComponent(accountId)}/top-up?since=${clock.now()}`
    const order = {
      accountId,
      person: person.email,
      cents: Number(amount / CENT_PICOS),
      paidUrl: `${page}&paid=1`,
      cancelUrl: `${page}&paid=0`,
    }
    const made = await payments.checkout(order)
    return made === 'unavailable' ? refuse(503, 'Stripe does not answer. Try again in a minute', { retryAfterS: 30 }) : made
  }
}
