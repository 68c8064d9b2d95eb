/** Money for an account: the ways to pay, redeeming a code, a page to pay on, and the credits. Rules: pages.md "Codes", "Stripe". */

import { Elysia, t } from 'elysia'
import { boundedMap } from '../../core/bounded-map.ts'
import { GrowingDelay } from '../../core/growing-delay.ts'
import { parseUsd, toExactUsdText } from '../../core/money.ts'
import { readCode } from '../../core/prepaid-code.ts'
import { step } from '../../core/rate-limit.ts'
import { isoTime } from '../../core/utc.ts'
import { CODE_NOT_VALID, CODE_USED } from '../../ledger/operations/code-operations.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import type { AccountCredit } from '../../ledger/reading/account-reports.ts'
import type { Site } from '../site.ts'
import { missing, refuse, tooManyAttempts } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { refuseUnread } from './unread.ts'

const CREDITS_LIMIT = 50
const CENT_PICOS = 10_000_000_000n
/** The rate at which a person may ask for pages to pay on. */
const CHECKOUTS = { perMinute: 10, burst: 10 }
const PEOPLE_REMEMBERED_MAX = 10_000

const CODE = t.Object({ code: t.String({ minLength: 1, maxLength: 200, description: 'A code has 25 characters after TG' }) })
const AMOUNT = t.Object({ amount_usd: t.String({ maxLength: 20, description: 'An amount in dollars, such as 25' }) })
const PAGE = t.Object({
  after: t.Optional(t.String({ maxLength: 64 })),
  limit: t.Integer({ minimum: 1, maximum: 200, default: CREDITS_LIMIT, description: '1 to 200 rows' }),
})

export const topUpRoutes = (site: Site) => {
  const { world, people, waysToPay } = site
  const redeem = redeemer(site)
  const checkout = cashier(site)
  return new Elysia({ name: 'top up', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get(
      '/payments',
      () => {
        const { text, stripe } = waysToPay()
        const bounds = stripe && { min_usd: toExactUsdText(stripe.minPicos), max_usd: toExactUsdText(stripe.maxPicos) }
        return { codes: true, stripe: bounds ?? null, text: text ?? null }
      },
      { member: 'reader' },
    )
    .get(
      '/credits',
      async ({ caller, params: { accountId }, query: { after, limit } }) => {
        const question = { kind: 'accountCredits', accountId, limit, ...(after === undefined ? {} : { after }) } as const
        const client = `person:${caller.person.id}`
        const [page, account] = await Promise.all([
          world.reports.ask(client, question),
          world.reports.ask(client, { kind: 'account', accountId }),
        ])
        if (page === undefined || account === undefined) return missing()
        if (typeof page === 'string') return refuseUnread(page)
        if (typeof account === 'string') return refuseUnread(account)
        return {
          balance_usd: toExactUsdText(account.balancePicos),
          data: page.rows.map(creditDocument),
          has_more: page.next !== null,
          next_cursor: page.next,
        }
      },
      { member: 'reader', query: PAGE },
    )
    .post('/codes/redeem', ({ caller, params, body }) => redeem(caller, params.accountId, body.code), { member: 'owner', body: CODE })
    .post('/checkout', ({ caller, params, body }) => checkout(caller, params.accountId, body.amount_usd), { member: 'owner', body: AMOUNT })
}

type Redeemed = Readonly<{
  credit_id: string
  amount_usd: string
  /** Whether the account had redeemed the code before, so that nothing was done now. */
  already: boolean
}>

const GROWTH = { firstMs: 1_000, maxMs: 300_000 }

/** `isNone`: takes the count back, since the text was a code, or the gateway could not find out. */
type Guess = Readonly<{ refusedMs: number }> | Readonly<{ isNone: () => void }>

/** Wrong codes slow down the person and the address that send them: both are refused for a time that grows. A person's wait locks out no other person. */
class CodeGuesses {
  readonly #people = new GrowingDelay(GROWTH)
  readonly #addresses = new GrowingDelay(GROWTH)

  /** Counts a guess as wrong until `isNone` is called, so that many guesses at once are counted, too. `now`: milliseconds. */
  begin(personId: string, address: string, now: number): Guess {
    const refusedMs = Math.max(this.#people.waitMs(personId, now), this.#addresses.waitMs(address, now))
    if (refusedMs > 0) return { refusedMs }
    const counted = [this.#people.count(personId, now), this.#addresses.count(address, now)]
    return {
      isNone: () => {
        for (const takeBack of counted) takeBack()
      },
    }
  }
}

/** Redeems codes, with one memory of failures for all accounts: otherwise each account would be a fresh start for a client that guesses. */
function redeemer({ world: { ledger, clock } }: Site) {
  const guesses = new CodeGuesses()
  return async ({ actor, person, address }: Caller, accountId: string, typed: string): Promise<Redeemed | Response> => {
    const code = readCode(typed)
    if (code === undefined) return refuse(400, 'This is no code: compare each character', { field: 'code' })
    const guess = guesses.begin(person.id, address, clock.monotonicMs())
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

function cashier({ world: { clock }, people, payments, waysToPay }: Site) {
  const asked = boundedMap<{ tat: number }>(PEOPLE_REMEMBERED_MAX)
  return async ({ person }: Caller, accountId: string, amountUsd: string): Promise<Readonly<{ url: string }> | Response> => {
    const bounds = waysToPay().stripe
    if (payments === undefined || bounds === undefined) return missing()
    const amount = parseUsd(amountUsd)
    if (amount === undefined || amount < bounds.minPicos || amount > bounds.maxPicos || amount % CENT_PICOS !== 0n) {
      const [min, max] = [toExactUsdText(bounds.minPicos), toExactUsdText(bounds.maxPicos)]
      return refuse(400, `From $${min} to $${max}, in whole cents`, { field: 'amount_usd' })
    }
    const { tat, isAllowed, retryAfterSeconds } = step(asked.get(person.id)?.tat, clock.monotonicMs(), CHECKOUTS)
    asked.set(person.id, { tat })
    if (!isAllowed) return tooManyAttempts(retryAfterSeconds * 1_000)
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

const creditDocument = ({ id, kind, amountPicos, ref, reason, createdAt }: AccountCredit) => ({
  id,
  kind,
  amount_usd: toExactUsdText(amountPicos),
  ref,
  reason,
  created_at: isoTime(createdAt),
})
