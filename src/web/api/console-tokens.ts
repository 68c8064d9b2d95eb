/** Tokens of the operator's API for operators: listed, made, revoked; the same operations as the command line's. Rules: operator-api.md "Tokens"; pages.md "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { TOKEN_ACCOUNTS_MAX, TOKEN_DAYS_MAX, TOKEN_SCOPES, tokenStateOf } from '../../core/api-token.ts'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import { newToken } from '../../ledger/operations/token-writes.ts'
import type { TokenRow } from '../../ledger/reading/token-lists.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, AFTER, type ConsoleActs, NO_STORE, oneOf, REASON } from './console-acts.ts'
import { NAME, wrongName } from './name-field.ts'

const PAGE = 50
const CREATE = t.Object({
  id: ACT_ID,
  name: NAME,
  scope: oneOf(TOKEN_SCOPES, 'What it may do'),
  account_ids: t.Optional(
    t.Array(t.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: TOKEN_ACCOUNTS_MAX,
      description: `1 to ${TOKEN_ACCOUNTS_MAX} accounts; without this field it sees all`,
    }),
  ),
  expires_in_days: t.Integer({ minimum: 1, maximum: TOKEN_DAYS_MAX, description: `A whole number of days, 1 to ${TOKEN_DAYS_MAX}` }),
  reason: REASON,
})

export function consoleTokens({ world, people }: Site, { ask, perform, once, oldForm }: ConsoleActs) {
  const { clock } = world
  const list = async (caller: Caller, after: string | undefined) => {
    if (after !== undefined && !/^\d{1,15}$/.test(after)) return missing()
    const page = await ask<'tokens'>(caller, { kind: 'tokens', limit: PAGE, ...(after === undefined ? {} : { after }) })
    if (page instanceof Response) return page
    const accountIds = [...new Set(page.rows.flatMap((token) => token.accountIds))]
    const found = accountIds.length === 0 ? {} : await ask<'names'>(caller, { kind: 'names', accountIds, keyIds: [] })
    const names = found instanceof Response ? {} : found
    return { data: page.rows.map((token) => tokenDocument(token, names, clock.now())), next_cursor: page.next }
  }
  const create = async (
    caller: Caller,
    { id, name: typed, scope, account_ids: accountIds = [], expires_in_days: expiresInDays, reason }: Static<typeof CREATE>,
  ) => {
    const name = typed.trim()
    const wrong = wrongName(name) ?? oldForm(id)
    if (wrong !== undefined) return wrong
    for (const accountId of accountIds) {
      const account = await ask<'account'>(caller, { kind: 'account', accountId })
      if (account === undefined) return refuse(400, `There is no account ${accountId}`, { field: 'account_ids' })
      if (account instanceof Response) return account
    }
    const { operation, secret } = newToken({ tokenId: `tok_${id}`, name, scope, accountIds, expiresInDays }, clock.now())
    const done = await perform(operation, caller, reason)
    return done instanceof Response ? done : { id: operation.tokenId, secret }
  }
  const revoke = async (caller: Caller, tokenId: string, reason: string | undefined) => {
    const done = await perform({ kind: 'revokeToken', tokenId, now: clock.now() }, caller, reason)
    return done instanceof Response ? done : { id: tokenId }
  }
  return (
    new Elysia({ name: 'console tokens', prefix: '/console/api/tokens' })
      .use(callerMacro(people, 'console'))
      .onBeforeHandle(({ set }) => {
        Object.assign(set.headers, NO_STORE)
      })
      .get('', ({ caller, query }) => list(caller, query.after), { person: true, query: t.Object({ after: AFTER }) })
      // Only this answer has the secret, so a form that is sent twice gets the same answer again, from memory.
      .post('', ({ caller, body }) => once(caller, 'token', body.id, () => create(caller, body)), { person: true, body: CREATE })
      .post('/:tokenId/revoke', ({ caller, params, body }) => revoke(caller, params.tokenId, body.reason), {
        person: true,
        body: t.Object({ reason: REASON }),
      })
  )
}

/** `names`: of accounts; one that cannot be read now is ''. */
const tokenDocument = (token: TokenRow, names: Readonly<Record<string, string>>, now: number) => ({
  id: token.id,
  name: token.name,
  display: token.display,
  scope: token.scope,
  accounts: token.accountIds.map((id) => ({ id, name: names[id] ?? '' })),
  state: tokenStateOf(token, now),
  created_at: isoTime(token.createdAt),
  expires_at: isoTime(token.expiresAt),
  revoked_at: isoOrNull(token.revokedAt),
  last_used_at: isoOrNull(token.lastUsedAt),
})
