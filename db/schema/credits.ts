/** Money that came in: credits, and prepaid codes, each of which becomes a credit when it is redeemed. */

import { sql } from 'drizzle-orm'
import { blob, index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { accountColumn, accounts } from './accounts.ts'
import { chainChecks, chainColumns, checks, isHash, oneOf, picos, whole } from './columns.ts'

const CREDIT_KINDS = ['top-up', 'refund', 'correction'] as const

export const credits = sqliteTable(
  'credits',
  {
    id: text('id').primaryKey(),
    ...accountColumn(),
    kind: text('kind', { enum: CREDIT_KINDS }).notNull(),
    amountPicos: picos('amount_picos').notNull(),
    ref: text('ref').notNull(),
    actor: text('actor').notNull().default(''),
    reason: text('reason').notNull().default(''),
    createdAt: whole('created_at').notNull(),
    ...chainColumns(),
  },
  (table) => [
    uniqueIndex('credits_ref').on(table.ref).where(sql.raw("ref <> ''")),
    uniqueIndex('credits_chain').on(table.accountNumber, table.lane, table.seq),
    index('credits_time').on(table.accountNumber, table.createdAt, table.lane, table.seq),
    ...oneOf('kind', CREDIT_KINDS),
    ...checks('amount_picos <> 0', "kind <> 'top-up' OR amount_picos > 0", "kind <> 'refund' OR amount_picos < 0"),
    ...chainChecks(),
  ],
)

export const codeBatches = sqliteTable(
  'code_batches',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
    name: text('name').notNull(),
    amountPicos: picos('amount_picos').notNull(),
    createdAt: whole('created_at').notNull(),
    expiresAt: whole('expires_at'),
    disabledAt: whole('disabled_at'),
  },
  (table) => [
    uniqueIndex('code_batches_id').on(table.id),
    uniqueIndex('code_batches_name').on(table.name).where(sql.raw("name <> ''")),
    ...checks('amount_picos BETWEEN 1 AND 9000000000000000000'),
  ],
)

export const codes = sqliteTable(
  'codes',
  {
    hash: blob('hash', { mode: 'buffer' }).primaryKey(),
    batchNumber: whole('batch_number')
      .notNull()
      .references(() => codeBatches.number),
    place: whole('place').notNull(),
    display: text('display').notNull(),
    accountNumber: whole('account_number').references(() => accounts.number),
    creditId: text('credit_id').references(() => credits.id),
    redeemedAt: whole('redeemed_at'),
  },
  (table) => [
    uniqueIndex('codes_place').on(table.batchNumber, table.place),
    uniqueIndex('codes_credit').on(table.creditId).where(sql.raw('credit_id IS NOT NULL')),
    ...isHash('hash'),
    ...checks('place > 0', '(credit_id IS NULL) = (account_number IS NULL)', '(credit_id IS NULL) = (redeemed_at IS NULL)'),
  ],
)
