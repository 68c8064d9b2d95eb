/** An account as the CLI shows it: JSON with the API's names, or text. Rules: operator.md "Commands". */

import { DEFAULT_PLAN } from '../core/catalog.ts'
import { usdFields } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'
import type { AccountReport } from '../ledger/reading/account-lists.ts'
import { tableText, timeText, usdText } from './text.ts'

export const accountDocument = (account: AccountReport) => ({
  id: account.id,
  name: account.name,
  ...usdFields('balance', account.balancePicos),
  ...usdFields('credited', account.creditedPicos),
  ...usdFields('spent', account.spentPicos),
  ...usdFields('held', account.heldPicos),
  keys: account.keyCount,
  is_active: account.isActive,
  tags_user_ids: account.tagsUserIds,
  plan: account.plan,
  created_at: isoOrNull(account.createdAt),
})

const stateText = (account: AccountReport): string => (account.isActive ? 'live' : 'disabled')

export const accountFacts = (account: AccountReport): readonly (readonly [string, string])[] => [
  ['id', account.id],
  ['name', account.name],
  ['balance', usdText(account.balancePicos)],
  ['credited', usdText(account.creditedPicos)],
  ['spent', usdText(account.spentPicos)],
  ['held', usdText(account.heldPicos)],
  ['plan of new keys', account.plan ?? DEFAULT_PLAN],
  ['state', stateText(account)],
  ['tags', account.tagsUserIds ? 'by x-spend-tag and the ids of end users' : 'by x-spend-tag'],
  ['created', timeText(account.createdAt)],
]

/** `isPart`: a filter or a cursor leaves out some accounts. */
export const accountTable = (accounts: readonly AccountReport[], isPart: boolean): string =>
  tableText(
    ['ID', 'NAME', 'BALANCE', 'CREDITED', 'SPENT', 'HELD', 'KEYS', 'STATE'],
    accounts.map((account) => [
      account.id,
      account.name,
      usdText(account.balancePicos),
      usdText(account.creditedPicos),
      usdText(account.spentPicos),
      usdText(account.heldPicos),
      String(account.keyCount),
      stateText(account),
    ]),
    isPart ? 'No account was found.' : 'There are no accounts yet: `tollgate accounts create NAME` makes one.',
  )
