/** A key and an account as lists show them, each column written once. Rules: keys.md "Balance of a key"; operator.md "Lists". */

import { sql } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import type { ListedKey } from './account-reports.ts'

/** The columns of a key. The newest secret is shown, although an older one may still be valid for a while. */
export const keyColumns = {
  id: keys.id,
  accountId: accounts.id,
  accountName: accounts.name,
  name: keys.name,
  display: sql<string>`(select display from key_secrets where key_number = keys.number order by valid_until is null desc, created_at desc limit 1)`,
  plan: keys.plan,
  limitPicos: keys.limitPicos,
  rates: keys.rates,
  spentPicos: keys.spentPicos,
  balancePicos: accounts.balancePicos,
  expiresAt: keys.expiresAt,
  isActive: keys.isActive,
  isAccountActive: accounts.isActive,
  createdAt: keys.createdAt,
  lastSyncedAt: keys.lastSyncedAt,
  lastUsedAt: keys.lastUsedAt,
  toppedUpAt: accounts.toppedUpAt,
}

/** The secret before the last rotation, which is the one that ends last of those that end. */
const previous = <T>(column: 'display' | 'valid_until') =>
  sql<T>`(select ${sql.raw(column)} from key_secrets where key_number = keys.number and valid_until is not null order by valid_until desc, created_at desc limit 1)`

export const listedKeyColumns = {
  ...keyColumns,
  previousDisplay: previous<string | null>('display'),
  previousUntil: previous<bigint | null>('valid_until'),
}

type Stored = Omit<ListedKey, 'previous'> & {
  previousDisplay: string | null
  previousUntil: bigint | null
  balancePicos: bigint
  toppedUpAt: number | null
}

export function listedKey({ previousDisplay, previousUntil, balancePicos: _, toppedUpAt: _t, ...key }: Stored): ListedKey {
  return { ...key, previous: previousDisplay === null ? null : { display: previousDisplay, validUntil: Number(previousUntil) } }
}

export const accountColumns = {
  id: accounts.id,
  name: accounts.name,
  creditedPicos: accounts.creditedPicos,
  spentPicos: accounts.spentPicos,
  balancePicos: accounts.balancePicos,
  isActive: accounts.isActive,
  tagsUserIds: accounts.tagsUserIds,
  plan: accounts.plan,
  toppedUpAt: accounts.toppedUpAt,
  createdAt: accounts.createdAt,
}

const KEYS_COUNTED_MAX = 1_000

const KEY_COUNT =
  sql`(select count(*) from (select 1 from keys where keys.account_number = accounts.number limit ${sql.raw(String(KEYS_COUNTED_MAX + 1))}) counted)`.mapWith(
    Number,
  )

export const listedAccountColumns = { ...accountColumns, keyCount: KEY_COUNT }

export const listedAccount = <Row extends Readonly<{ keyCount: number }>>({ keyCount, ...account }: Row) => ({
  ...account,
  keyCount: Math.min(keyCount, KEYS_COUNTED_MAX),
  hasMoreKeys: keyCount > KEYS_COUNTED_MAX,
})
