/** Money for an account: the ways to pay, redeeming a code, a page to pay on, and the credits. Rules: pages.md "Codes", "Stripe". */

import { Elysia, t } from 'elysia'
import { toExactUsdText } from '../../core/money.ts'
import { isoTime } from '../../core/utc.ts'
import type { AccountCredit } from '../../ledger/reading/account-reports.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { callerMacro } from './caller.ts'
import { cashier, redeemer } from './top-up-acts.ts'
import { refuseUnread } from './unread.ts'

const CREDITS_LIMIT = 50

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

const creditDocument = ({ id, kind, amountPicos, ref, reason, createdAt }: AccountCredit) => ({
  id,
  kind,
  amount_usd: toExactUsdText(amountPicos),
  ref,
  reason,
  created_at: isoTime(createdAt),
})
