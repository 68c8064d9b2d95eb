/** What a list shows to a token that is bound to accounts: the rows of one account of its own. Rules: operator-api.md "Scopes". */

import type { ApiCaller } from './caller.ts'
import { type Failure, missing, wrong } from './failure.ts'

/** The account of a list's rows. A token that is bound to one account needs no filter, one that is bound to several names one. */
export function onlyAccount({ token: { accountIds } }: ApiCaller, asked: string | undefined): Readonly<{ accountId?: string }> | Failure {
  if (asked !== undefined) return accountIds.length === 0 || accountIds.includes(asked) ? { accountId: asked } : missing()
  const [first] = accountIds
  if (accountIds.length > 1) return wrong('account_id', 'Name one of the accounts to which this token is bound')
  return first === undefined ? {} : { accountId: first }
}
