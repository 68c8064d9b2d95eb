/** What operators did. */

import { sql } from 'drizzle-orm'
import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { whole } from './columns.ts'

export const auditLog = sqliteTable(
  'audit_log',
  {
    id: whole('id')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    at: whole('at').notNull(),
    actor: text('actor').notNull().default(''),
    address: text('address').notNull().default(''),
    action: text('action').notNull(),
    target: text('target').notNull(),
    reason: text('reason').notNull().default(''),
    before: text('before').notNull().default(''),
    after: text('after').notNull(),
  },
  (table) => [index('audit_log_at').on(table.at), index('audit_log_target').on(table.target, table.at)],
)
