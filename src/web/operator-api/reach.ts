/** What a list shows to a token that is bound to accounts: the rows of one account of its own, or of a key of it. Rules: operator-api.md "Scopes". */

import type { ListedKey } from '../../ledger/reading/account-reports.ts'
import type { ApiActs } from './acts.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { Failure, missing, wrong } from './failure.ts'

/** The account of a list's rows. A token that is bound to one account needs no filter, one that is bound to several names one. */
export function onlyAccount({ token: { accountIds } }: ApiCaller, asked: string | undefined): Readonly<{ accountId?: string }> | Failure {
  if (asked !== undefined) return accountIds.length === 0 || accountIds.includes(asked) ? { accountId: asked } : missing()
  const [first] = accountIds
  if (accountIds.length > 1) return wrong('account_id', 'Name one of the accounts to which this token is bound')
  return first === undefined ? {} : { accountId: first }
}

/** A key that the token sees; one that it does not see is answered as one that does not exist. */
export async function seenKey(ask: ApiActs['ask'], caller: ApiCaller, keyId: string): Promise<ListedKey | Failure> {
  const page = await ask<'keys'>(caller, { kind: 'keys', search: keyId, limit: 1 })
  if (page instanceof Failure) return page
  const key = page?.rows.find(({ id }) => id === keyId)
  return key === undefined || !seesAccount(caller, key.accountId) ? missing() : key
}

type Asked = Readonly<{ account_id?: string | undefined; key_id?: string | undefined }>

/** The account or key whose rows are asked for. */
export async function onlyOf(
  ask: ApiActs['ask'],
  caller: ApiCaller,
  { account_id, key_id }: Asked,
): Promise<Readonly<{ accountId?: string; keyId?: string }> | Failure> {
  if (key_id === undefined) return onlyAccount(caller, account_id)
  if (account_id !== undefined) return wrong('key_id', 'Name a key or an account, not both')
  const key = await seenKey(ask, caller, key_id)
  return key instanceof Failure ? key : { keyId: key.id }
}
