/** A key as the CLI shows it: JSON with the API's names, or text. Rules: keys.md "Balance of a key"; operator.md "Commands". */

import { budgetDocument } from '../core/budget-document.ts'
import { stateOf } from '../core/key.ts'
import { usdFields } from '../core/money.ts'
import { ratesAsSet, rateText } from '../core/token-buckets.ts'
import { isoOrNull } from '../core/utc.ts'
import type { KeyReport } from '../ledger/reading/account-lists.ts'
import { budgetFacts } from './budgets.ts'
import { tableText, timeText, usdText } from './text.ts'

/** `balance_usd` is what the key may spend: the least of its account's balance and what its limit and budgets leave. */
export const keyDocument = (key: KeyReport, now: number) => {
  const { balance_usd, ...balance } = usdFields('balance', key.availablePicos)
  return {
    id: key.id,
    name: key.name,
    account_id: key.accountId,
    balance_usd,
    expires_at: isoOrNull(key.expiresAt),
    display: key.display,
    account_name: key.accountName,
    plan: key.plan,
    ...balance,
    ...usdFields('spent', key.spentPicos),
    ...usdFields('held', key.heldPicos),
    ...usdFields('limit', key.limitPicos),
    rates: key.rates == null ? null : ratesAsSet(key.rates),
    budgets: (key.windows ?? []).map(budgetDocument),
    is_active: key.isActive,
    is_account_active: key.isAccountActive,
    state: stateOf(key, now),
    last_synced_at: isoOrNull(key.lastSyncedAt),
    created_at: isoOrNull(key.createdAt),
  }
}

export const keyFacts = (key: KeyReport, now: number): readonly (readonly [string, string])[] => [
  ['id', key.id],
  ['name', key.name],
  ['display', key.display],
  ['account', key.accountName === '' ? key.accountId : `${key.accountName} (${key.accountId})`],
  ['plan', key.plan],
  ['balance', usdText(key.availablePicos)],
  ['spent', usdText(key.spentPicos)],
  ['held', usdText(key.heldPicos)],
  ['limit', usdText(key.limitPicos)],
  ...(key.rates == null ? [] : [['rates', rateText(key.rates)] as const]),
  ...budgetFacts(key.windows ?? []),
  ['expires', timeText(key.expiresAt)],
  ['state', stateOf(key, now)],
  ['created', timeText(key.createdAt)],
]

/** `isPart`: a filter or a cursor leaves out some keys. */
export const keyTable = (keys: readonly KeyReport[], now: number, isPart: boolean): string =>
  tableText(
    ['ID', 'NAME', 'KEY', 'ACCOUNT', 'PLAN', 'BALANCE', 'SPENT', 'LIMIT', 'EXPIRES', 'STATE'],
    keys.map((key) => [
      key.id,
      key.name,
      key.display,
      key.accountName === '' ? key.accountId : key.accountName,
      key.plan,
      usdText(key.availablePicos),
      usdText(key.spentPicos),
      usdText(key.limitPicos),
      timeText(key.expiresAt),
      stateOf(key, now),
    ]),
    isPart ? 'No key was found.' : 'There are no keys yet: `tollgate keys create --balance 25` makes one.',
  )
