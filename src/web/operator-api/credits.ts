/** Money over the operator's API: top-ups, refunds and corrections of an account, and the list of credits. Rules: operator-api.md "Writes"; operator.md "Credits". */

import { Elysia, type Static, t } from 'elysia'
import { toExactUsdText, ZERO } from '../../core/money.ts'
import type { CreditKind } from '../../ledger/operation.ts'
import { creditOf as creditOperation } from '../../ledger/operations/account-writes.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import { CREDIT_LIST, CREDITED, creditOf } from './account-documents.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { answer, ERRORS, Failure, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { onlyAccount } from './reach.ts'
import { listDocument, PAGING, pagingOf, paymentOf, RANGE, REASON, REF, refOf, sent, spanOf, USD, usdOf } from './shapes.ts'

const TOP_UP = sent({ amount_usd: USD, ref: REF, reason: REASON }, { title: 'TopUp' })
const NEEDED_REASON = t.String({ minLength: 1, maxLength: 1_000, description: 'Why, for the audit log and the account' })
const TAKE = sent({ amount_usd: USD, ref: REF, reason: NEEDED_REASON }, { title: 'RefundOrCorrection' })
const LIST = sent({
  ...PAGING,
  ...RANGE,
  account_id: t.Optional(t.String({ maxLength: 64 })),
  ref: t.Optional(t.String({ maxLength: 200, description: 'Only the credit with this reference' })),
})

type Sent = Readonly<{ amount_usd: string; ref?: string | undefined; reason?: string | undefined }>

function creditActs({ world, acts: { ask, askAfterWrite, perform } }: Parts) {
  const list = async (caller: ApiCaller, query: Static<typeof LIST>) => {
    const { account_id, ref, from, to, ...paged } = query
    const [of, span] = [onlyAccount(caller, account_id), spanOf({ from, to })]
    if (of instanceof Failure) return of
    if (span instanceof Failure) return span
    const question = { kind: 'credits', ...pagingOf(paged), ...of, ...span, ...(ref === undefined ? {} : { ref }) } as const
    const page = await ask<'credits'>(caller, question)
    return page instanceof Failure ? page : listDocument(page, creditOf)
  }
  const credit = async (caller: ApiCaller, accountId: string, creditKind: CreditKind, { amount_usd, ref: typed, reason }: Sent) => {
    if (!seesAccount(caller, accountId)) return missing()
    const usd = creditKind === 'correction' ? usdOf('amount_usd', amount_usd) : paymentOf('amount_usd', amount_usd)
    if (usd instanceof Failure) return usd
    if (usd === ZERO) return wrong('amount_usd', 'Another amount than 0')
    const ref = refOf(typed)
    if (ref instanceof Failure) return ref
    if (creditKind !== 'top-up' && (reason ?? '').trim() === '') return wrong('reason', 'Say why, for the audit log and the account')
    const before = await ask<'account'>(caller, { kind: 'account', accountId })
    if (before === undefined) return missing()
    if (before instanceof Failure) return before
    const now = world.clock.now()
    const operation = creditOperation({ accountId, creditId: newId('crd', now), creditKind, usd, ref }, now)
    const done = await perform(caller, operation, reason)
    if (done instanceof Failure) return done
    const after = await askAfterWrite<'account'>(caller, { kind: 'account', accountId })
    if (after instanceof Failure) return after
    return {
      credit_id: done.repeats?.target ?? done.earlier?.creditId ?? operation.creditId,
      account_id: accountId,
      already: (done.repeats ?? done.earlier) !== undefined,
      amount_usd: toExactUsdText(operation.amountPicos),
      balance_usd: toExactUsdText(after?.balancePicos ?? before.balancePicos),
    } satisfies Static<typeof CREDITED>
  }
  return { list, credit }
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Money'], summary, description })

export function creditRoutes(parts: Parts) {
  const { list, credit } = creditActs(parts)
  return new Elysia({ name: 'operator api credits' })
    .use(parts.macro)
    .get('/credits', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: LIST,
      response: { 200: CREDIT_LIST, ...ERRORS },
      detail: detail('listCredits', 'List credits', 'Top-ups, refunds and corrections, newest first.'),
    })
    .post(
      '/accounts/:account_id/top-ups',
      async ({ caller, params, body }) => answer(await credit(caller, params.account_id, 'top-up', body)),
      {
        token: { scope: 'money', reach: 'account' },
        body: TOP_UP,
        response: { 200: CREDITED, ...ERRORS },
        detail: detail('topUpAccount', 'Top up an account', 'Adds a payment. Its reference is credited once: again it says `already`.'),
      },
    )
    .post(
      '/accounts/:account_id/refunds',
      async ({ caller, params, body }) => answer(await credit(caller, params.account_id, 'refund', body)),
      {
        token: { scope: 'money', reach: 'account' },
        body: TAKE,
        response: { 200: CREDITED, ...ERRORS },
        detail: detail('refundAccount', 'Refund an account', 'Takes what was paid back, no more than the balance.'),
      },
    )
    .post(
      '/accounts/:account_id/corrections',
      async ({ caller, params, body }) => answer(await credit(caller, params.account_id, 'correction', body)),
      {
        token: { scope: 'money', reach: 'account' },
        body: TAKE,
        response: { 200: CREDITED, ...ERRORS },
        detail: detail('correctAccount', 'Correct an account', 'Adds, or takes with a negative amount.'),
      },
    )
}
