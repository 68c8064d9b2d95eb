/** The ledger itself, and the processes that wrote to it. */

import { sql } from 'drizzle-orm'
import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { whole } from './columns.ts'

export const meta = sqliteTable('meta', { name: text('name').primaryKey(), value: text('value').notNull() })

export const boots = sqliteTable(
  'boots',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
    node: text('node').notNull(),
    startedAt: whole('started_at').notNull(),
    schemaVersion: whole('schema_version').notNull().default(2),
  },
  (table) => [uniqueIndex('boots_id').on(table.id)],
)
