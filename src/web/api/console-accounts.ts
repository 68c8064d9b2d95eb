/** Accounts for operators: looked up, made, changed, credited; the same operations as the command line's. Rules: operator.md "Keys and accounts", "Credits"; pages.md "Acts of operators". */

import { Elysia, t } from 'elysia'
import { toExactUsdText, ZERO } from '../../core/money.ts'
import { creditOf, firstTopUp } from '../../ledger/account-writes.ts'
import type { Operation } from '../../ledger/operation.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import {
  ACT_ID,
  AFTER,
  amountOf,
  type ConsoleActs,
  NAME,
  NO_STORE,
  needReason,
  oneOf,
  REASON,
  refOf,
  USD,
  wrongName,
} from './console-acts.ts'
import { accountDocument, creditDocument, holdDocument, listedAccount } from './console-documents.ts'
import { keyDocument } from './key-document.ts'

const PAGE = 50
const HOLDS_SHOWN = 50
const REF = t.Optional(t.String({ maxLength: 1_000, description: 'A reference has at most 200 printable characters' }))
const WHY = t.Object({ reason: REASON })

const CREATE = t.Object({ id: ACT_ID, name: NAME, balance_usd: t.Optional(USD), ref: REF, reason: REASON })
const CREDIT = t.Object({
  id: ACT_ID,
  kind: oneOf(['top-up', 'refund', 'correction'], 'A top-up, a refund or a correction'),
  amount_usd: USD,
  ref: REF,
  reason: REASON,
})

export function consoleAccounts({ world, people }: Site, { ask, perform, oldForm }: ConsoleActs) {
  const { ledger, clock } = world
  const holdsOf = (accountId: string) => ledger.holds().filter((hold) => hold.accountId === accountId)

  const document = async (accountId: string, caller: Caller) => {
    const account = await ask<'account'>(caller, { kind: 'account', accountId })
    if (account === undefined) return missing()
    if (account instanceof Response) return account
    const holds = holdsOf(accountId)
    return {
      ...accountDocument(account, holds),
      holds: holds.slice(0, HOLDS_SHOWN).map(holdDocument),
      members: (await people().roster.membersOf(accountId)).map(({ email, name, role }) => ({ email, name, role })),
      invitations: (await people().links.invitations(accountId)).map(({ email, membership }) => ({
        email,
        role: membership?.role ?? 'owner',
      })),
    }
  }
  /** The account as it is after the change. */
  const change = async (accountId: string, caller: Caller, reason: string | undefined, operation: Operation) => {
    const account = await ask<'account'>(caller, { kind: 'account', accountId })
    if (account === undefined) return missing()
    if (account instanceof Response) return account
    const done = await perform(operation, caller, reason)
    return done instanceof Response ? done : document(accountId, caller)
  }
  const setActive = (accountId: string, caller: Caller, reason: string | undefined, isActive: boolean) =>
    change(accountId, caller, reason, { kind: 'setAccountActive', accountId, isActive, now: clock.now() })

  return new Elysia({ name: 'console accounts', prefix: '/console/api/accounts' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '',
      async ({ caller, query: { search, after } }) => {
        const page = await ask<'accounts'>(caller, {
          kind: 'accounts',
          limit: PAGE,
          ...(search === undefined ? {} : { search }),
          ...(after === undefined ? {} : { after }),
        })
        if (page === undefined) return missing()
        return page instanceof Response ? page : { data: page.rows.map(listedAccount), next_cursor: page.next }
      },
      { person: true, query: t.Object({ search: t.Optional(t.String({ maxLength: 200 })), after: AFTER }) },
    )
    .post(
      '',
      async ({ caller, body }) => {
        const name = body.name.trim()
        const balance = (body.balance_usd ?? '').trim() === '' ? ZERO : amountOf(body.balance_usd ?? '', 'balance_usd')
        const ref = refOf(body.ref)
        const wrong = wrongName(name)
        if (wrong !== undefined) return wrong
        if (balance instanceof Response) return balance
        if (ref instanceof Response) return ref
        if (ref !== '' && balance === ZERO)
          return refuse(400, 'A reference is that of a payment: say how much it was', { field: 'balance_usd' })
        const old = oldForm(body.id)
        if (old !== undefined) return old
        const accountId = `acc_${body.id}`
        const operation = {
          kind: 'createAccount',
          accountId,
          name,
          topUp: firstTopUp(`crd_${body.id}`, balance, ref),
          now: clock.now(),
        } as const
        const done = await perform(operation, caller, body.reason)
        return done instanceof Response ? done : { id: done.earlier?.accountId ?? accountId, already: done.earlier !== undefined }
      },
      { person: true, body: CREATE },
    )
    .get('/:accountId', ({ caller, params }) => document(params.accountId, caller), { person: true })
    .patch(
      '/:accountId',
      ({ caller, params: { accountId }, body }) => {
        const name = body.name.trim()
        return wrongName(name) ?? change(accountId, caller, body.reason, { kind: 'renameAccount', accountId, name, now: clock.now() })
      },
      { person: true, body: t.Object({ name: NAME, reason: REASON }) },
    )
    .post('/:accountId/disable', ({ caller, params, body }) => setActive(params.accountId, caller, body.reason, false), {
      person: true,
      body: WHY,
    })
    .post('/:accountId/enable', ({ caller, params, body }) => setActive(params.accountId, caller, body.reason, true), {
      person: true,
      body: WHY,
    })
    .post(
      '/:accountId/credits',
      async ({ caller, params: { accountId }, body }) => {
        const usd = amountOf(body.amount_usd, 'amount_usd', body.kind === 'correction')
        if (usd instanceof Response) return usd
        const ref = refOf(body.ref)
        if (ref instanceof Response) return ref
        const wrong = (body.kind === 'top-up' ? undefined : needReason(body.reason)) ?? oldForm(body.id)
        if (wrong !== undefined) return wrong
        const account = await ask<'account'>(caller, { kind: 'account', accountId })
        if (account === undefined) return missing()
        if (account instanceof Response) return account
        const creditId = `crd_${body.id}`
        const operation = creditOf({ accountId, creditId, creditKind: body.kind, usd, ref }, clock.now())
        const done = await perform(operation, caller, body.reason)
        if (done instanceof Response) return done
        const after = await ask<'account'>(caller, { kind: 'account', accountId })
        if (after === undefined) return missing()
        if (after instanceof Response) return after
        return {
          credit_id: done.earlier?.creditId ?? creditId,
          already: done.earlier !== undefined,
          amount_usd: toExactUsdText(operation.amountPicos),
          balance_usd: toExactUsdText(after.balancePicos),
        }
      },
      { person: true, body: CREDIT },
    )
    .get(
      '/:accountId/credits',
      async ({ caller, params: { accountId }, query: { after } }) => {
        const page = await ask<'credits'>(caller, { kind: 'credits', accountId, limit: PAGE, ...(after === undefined ? {} : { after }) })
        return page instanceof Response ? page : { data: page.rows.map(creditDocument), next_cursor: page.next }
      },
      { person: true, query: t.Object({ after: AFTER }) },
    )
    .get(
      '/:accountId/keys',
      async ({ caller, params: { accountId }, query: { after } }) => {
        const page = await ask<'accountKeys'>(caller, {
          kind: 'accountKeys',
          accountId,
          limit: PAGE,
          ...(after === undefined ? {} : { after }),
        })
        if (page === undefined) return missing()
        if (page instanceof Response) return page
        const holds = holdsOf(accountId)
        const runningOf = (keyId: string) => holds.filter((hold) => hold.keyId === keyId).length
        return { data: page.rows.map((key) => keyDocument(key, ledger, runningOf(key.id), clock.now())), next_cursor: page.next }
      },
      { person: true, query: t.Object({ after: AFTER }) },
    )
}
