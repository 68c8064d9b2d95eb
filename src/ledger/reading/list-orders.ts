/** The orders of accounts and keys, each with the value of a row in SQL, and what is asked and answered of them. Rules: operator.md "Lists". */

import type { Page } from './page.ts'

const NEVER = '9223372036854775807'

/** Each is a value of every row, so that none is without a place. */
export const ACCOUNT_ORDERS = {
  created: 't.number',
  name: 't.name',
  balance: 't.balance_picos',
  credited: 't.credited_picos',
  spent: 't.spent_picos',
  topped_up: 'coalesce(t.topped_up_at, 0)',
} as const
export const KEY_ORDERS = {
  created: 't.number',
  name: 't.name',
  account: 'a.name',
  spent: 't.spent_picos',
  limit: `coalesce(t.limit_picos, ${NEVER})`,
  expires: `coalesce(t.expires_at, ${NEVER})`,
  last_used: 'coalesce(t.last_used_at, 0)',
} as const
/** Those that compare texts, without the case of their letters; the others compare whole numbers. */
export const TEXTS: readonly string[] = ['name', 'account']

type Falling<Word extends string> = Word | `-${Word}`
export type AccountOrder = Falling<keyof typeof ACCOUNT_ORDERS>
export type KeyOrder = Falling<keyof typeof KEY_ORDERS>

const bothWays = <Word extends string>(orders: Readonly<Record<Word, string>>): readonly Falling<Word>[] =>
  (Object.keys(orders) as Word[]).flatMap((word) => [word, `-${word}` as const])
export const EVERY_ACCOUNT_ORDER = bothWays(ACCOUNT_ORDERS)
export const EVERY_KEY_ORDER = bothWays(KEY_ORDERS)

/** `among`: how many rows were ordered. `isAll`: there are no others. `left`: how many of them are switched off and left out. */
export type Ordered<Row> = Page<Row> & Readonly<{ among: number; isAll: boolean; left: number }>

export type OrderedQuery<Order> = Readonly<{
  order: Order
  accountId?: string
  search?: string
  /** Leaves out what is disabled. */
  onlyActive?: boolean
  after?: string
  limit: number
}>
