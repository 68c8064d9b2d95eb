/** An account's credits for operators: looked up, and a top-up, a refund or a correction given; the same operations as the command line's. Rules: operator.md "Credits"; pages.md "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { toExactUsdText } from '../../core/money.ts'
import { creditOf } from '../../ledger/operations/account-writes.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, AFTER, amountOf, type ConsoleActs, NO_STORE, needReason, oneOf, REASON, REF, refOf, USD } from './console-acts.ts'
import { creditDocument } from './console-documents.ts'

const PAGE = 50
const CREDIT = t.Object({
  id: ACT_ID,
  kind: oneOf(['top-up', 'refund', 'correction'], 'A top-up, a refund or a correction'),
  amount_usd: USD,
  ref: REF,
  reason: REASON,
})

export function consoleCredits({ world, people }: Site, { ask, perform, oldForm }: ConsoleActs) {
  const accountOf = async (accountId: string, caller: Caller) => (await ask<'account'>(caller, { kind: 'account', accountId })) ?? missing()

  const credit = async (accountId: string, caller: Caller, { id, kind, amount_usd, ref: typedRef, reason }: Static<typeof CREDIT>) => {
    const usd = amountOf(amount_usd, 'amount_usd', kind === 'correction')
    if (usd instanceof Response) return usd
    const ref = refOf(typedRef)
    if (ref instanceof Response) return ref
    const wrong = (kind === 'top-up' ? undefined : needReason(reason)) ?? oldForm(id)
    if (wrong !== undefined) return wrong
    const before = await accountOf(accountId, caller)
    if (before instanceof Response) return before
    const creditId = `crd_${id}`
    const operation = creditOf({ accountId, creditId, creditKind: kind, usd, ref }, world.clock.now())
    const done = await perform(operation, caller, reason)
    if (done instanceof Response) return done
    const after = await accountOf(accountId, caller)
    if (after instanceof Response) return after
    return {
      credit_id: done.earlier?.creditId ?? creditId,
      already: done.earlier !== undefined,
      amount_usd: toExactUsdText(operation.amountPicos),
      balance_usd: toExactUsdText(after.balancePicos),
    }
  }

  return new Elysia({ name: 'console credits', prefix: '/console/api/accounts/:accountId/credits' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '',
      async ({ caller, params: { accountId }, query: { after } }) => {
        const page = await ask<'credits'>(caller, { kind: 'credits', accountId, limit: PAGE, ...(after === undefined ? {} : { after }) })
        return page instanceof Response ? page : { data: page.rows.map(creditDocument), next_cursor: page.next }
      },
      { person: true, query: t.Object({ after: AFTER }) },
    )
    .post('', ({ caller, params: { accountId }, body }) => credit(accountId, caller, body), { person: true, body: CREDIT })
}
