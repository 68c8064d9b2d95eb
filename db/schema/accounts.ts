/** Accounts, their keys, the keys' secrets, and which keys came from another gateway. */

import { sql } from 'drizzle-orm'
import { blob, index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { IMPORT_SYSTEMS } from '../../src/core/import/systems.ts'
import { SECRET_FORMS } from '../../src/core/key.ts'
import { ZERO } from '../../src/core/money.ts'
import { checks, flag, isFlag, isHash, notNegative, oneOf, picos, rateLimits, whole } from './columns.ts'

export const accounts = sqliteTable(
  'accounts',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
    name: text('name').notNull(),
    creditedPicos: picos('credited_picos').notNull().default(ZERO),
    spentPicos: picos('spent_picos').notNull().default(ZERO),
    balancePicos: picos('balance_picos').notNull().default(ZERO),
    isActive: flag('is_active').notNull().default(true),
    toppedUpAt: whole('topped_up_at'),
    createdAt: whole('created_at').notNull(),
    chainCount: whole('chain_count').notNull().default(0),
    chainHash: blob('chain_hash', { mode: 'buffer' }),
    tagsUserIds: flag('tags_user_ids').notNull().default(false),
    plan: text('plan'),
  },
  (table) => [
    uniqueIndex('accounts_id').on(table.id),
    uniqueIndex('accounts_name').on(table.name).where(sql.raw("name <> ''")),
    index('accounts_search').on(sql`lower(name)`),
    ...checks('credited_picos BETWEEN -9000000000000000000 AND 9000000000000000000', 'balance_picos = credited_picos - spent_picos'),
    ...checks('(chain_count = 0) = (chain_hash IS NULL)'),
    ...notNegative('spent_picos', 'chain_count'),
    ...isFlag('is_active'),
    ...isFlag('tags_user_ids'),
    ...isHash('chain_hash'),
  ],
)

export const keys = sqliteTable(
  'keys',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
    accountNumber: whole('account_number')
      .notNull()
      .references(() => accounts.number),
    name: text('name').notNull(),
    plan: text('plan').notNull(),
    limitPicos: picos('limit_picos'),
    spentPicos: picos('spent_picos').notNull().default(ZERO),
    expiresAt: whole('expires_at'),
    isActive: flag('is_active').notNull().default(true),
    lastSyncedAt: whole('last_synced_at').notNull(),
    lastUsedAt: whole('last_used_at'),
    createdAt: whole('created_at').notNull(),
    rates: rateLimits('rates'),
  },
  (table) => [
    uniqueIndex('keys_id').on(table.id),
    uniqueIndex('keys_name').on(table.accountNumber, table.name).where(sql.raw("name <> ''")),
    index('keys_account').on(table.accountNumber),
    index('keys_search').on(sql`lower(name)`),
    ...notNegative('limit_picos', 'spent_picos'),
    ...isFlag('is_active'),
  ],
)

export const keySecrets = sqliteTable(
  'key_secrets',
  {
    hash: blob('hash', { mode: 'buffer' }).primaryKey(),
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    display: text('display').notNull(),
    validUntil: whole('valid_until'),
    createdAt: whole('created_at').notNull(),
    form: text('form', { enum: SECRET_FORMS }).notNull().default('own'),
  },
  (table) => [
    index('key_secrets_key').on(table.keyNumber),
    index('key_secrets_display').on(table.display),
    index('key_secrets_foreign').on(table.form, table.hash).where(sql.raw("form <> 'own'")),
    ...isHash('hash'),
    ...oneOf('form', SECRET_FORMS),
  ],
)

export const importedKeys = sqliteTable(
  'imported_keys',
  {
    keyNumber: whole('key_number')
      .primaryKey()
      .references(() => keys.number),
    system: text('system', { enum: IMPORT_SYSTEMS }).notNull(),
    sourceAccount: text('source_account').notNull(),
    sourceKey: text('source_key').notNull(),
    accountPicos: picos('account_picos').notNull(),
    limitPicos: picos('limit_picos'),
    importedAt: whole('imported_at').notNull(),
  },
  (table) => [
    uniqueIndex('imported_keys_source').on(table.system, table.sourceKey),
    index('imported_keys_account').on(table.system, table.sourceAccount),
    ...oneOf('system', IMPORT_SYSTEMS),
    ...notNegative('account_picos', 'limit_picos'),
  ],
)

/** The account to which a row belongs. */
export const accountColumn = () => ({
  accountNumber: whole('account_number')
    .notNull()
    .references(() => accounts.number),
})
