/** How a list is asked for in an order, and what its answer says of it. Rules: operator.md "Lists"; pages.md "Tables". */

import { t } from 'elysia'
import type { Ordered } from '../../ledger/reading/list-orders.ts'
import { EVERY_ACCOUNT_ORDER, EVERY_KEY_ORDER } from '../../ledger/reading/list-orders.ts'
import { PLACE_CHARS_MAX } from '../../ledger/reading/list-place.ts'
import { oneOf } from './console-acts.ts'

const PLACE = t.Optional(t.String({ maxLength: PLACE_CHARS_MAX }))
const SEARCH = t.Optional(t.String({ maxLength: 200 }))

/** The order that an address asks for: one of these words. */
export const orderIn = <const Word extends string>(words: readonly Word[]) =>
  t.Optional(oneOf(words, `There is no such order: order is one of ${words.join(', ')}`))

export const ACCOUNTS_QUERY = t.Object({ search: SEARCH, order: orderIn(EVERY_ACCOUNT_ORDER), after: PLACE })
/** `hide`: leaves disabled keys out, and says how many they are. */
export const KEYS_QUERY = t.Object({
  search: SEARCH,
  order: orderIn(EVERY_KEY_ORDER),
  hide: t.Optional(oneOf(['disabled'], 'disabled')),
  after: PLACE,
})
export type KeysQuery = (typeof KEYS_QUERY)['static']
export type AccountsQuery = (typeof ACCOUNTS_QUERY)['static']

/** `among`: of how many rows it is the order; `is_all`: there are no others. `left_out`: the disabled ones among them. */
export const orderDocument = ({ among, isAll, left }: Ordered<unknown>) => ({ among, is_all: isAll, left_out: left })

/** Without what was not asked for. */
export const orderOf = <Order extends string>(order: Order | undefined, query: Readonly<{ search?: string; after?: string }>) => ({
  order: order ?? ('-created' as const),
  ...(query.search === undefined || query.search === '' ? {} : { search: query.search }),
  ...(query.after === undefined ? {} : { after: query.after }),
})
