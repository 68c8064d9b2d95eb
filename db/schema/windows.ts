/** Budgets by window, and what was spent in each hour, from which windows are summed. */

import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { PERS } from '../../src/core/windows.ts'
import { accountColumn, keys } from './accounts.ts'
import { notNegative, oneOf, picos, whole } from './columns.ts'

export const budgets = sqliteTable(
  'budgets',
  {
    ...accountColumn(),
    /** 0: all keys of the account together. */
    keyNumber: whole('key_number').notNull(),
    per: text('per', { enum: PERS }).notNull(),
    setBy: text('set_by', { enum: ['operator', 'customer'] }).notNull(),
    capPicos: picos('cap_picos').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountNumber, table.keyNumber, table.per, table.setBy] }),
    ...oneOf('per', PERS),
    ...oneOf('set_by', ['operator', 'customer']),
    ...notNegative('cap_picos'),
  ],
)

export const keyHours = sqliteTable(
  'key_hours',
  {
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    /** Whole hours since 1970. */
    hour: whole('hour').notNull(),
    spentPicos: picos('spent_picos').notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyNumber, table.hour] }), ...notNegative('spent_picos')],
)

export const accountHours = sqliteTable(
  'account_hours',
  { ...accountColumn(), hour: whole('hour').notNull(), plan: text('plan').notNull(), spentPicos: picos('spent_picos').notNull() },
  (table) => [primaryKey({ columns: [table.accountNumber, table.hour, table.plan] }), ...notNegative('spent_picos')],
)
