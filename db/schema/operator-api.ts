/** Tokens of the operator's API, and what their writes under an Idempotency-Key did. */

import { sql } from 'drizzle-orm'
import { blob, index, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { TOKEN_SCOPES } from '../../src/core/api-token.ts'
import { checks, isHash, oneOf, whole } from './columns.ts'

export const apiTokens = sqliteTable(
  'api_tokens',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
    name: text('name').notNull(),
    hash: blob('hash', { mode: 'buffer' }).notNull(),
    display: text('display').notNull(),
    scope: text('scope', { enum: TOKEN_SCOPES }).notNull(),
    accountIds: text('account_ids').notNull(),
    createdAt: whole('created_at').notNull(),
    expiresAt: whole('expires_at').notNull(),
    revokedAt: whole('revoked_at'),
    lastUsedAt: whole('last_used_at'),
  },
  (table) => [
    uniqueIndex('api_tokens_id').on(table.id),
    uniqueIndex('api_tokens_name').on(table.name),
    uniqueIndex('api_tokens_hash').on(table.hash),
    ...checks("name <> ''"),
    ...isHash('hash'),
    ...oneOf('scope', TOKEN_SCOPES),
  ],
)

export const apiWrites = sqliteTable(
  'api_writes',
  {
    tokenNumber: whole('token_number')
      .notNull()
      .references(() => apiTokens.number),
    headerHash: blob('header_hash', { mode: 'buffer' }).notNull(),
    requestHash: blob('request_hash', { mode: 'buffer' }).notNull(),
    target: text('target').notNull(),
    expiresAt: whole('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tokenNumber, table.headerHash] }),
    index('api_writes_expiry').on(table.expiresAt),
    ...isHash('header_hash'),
    ...isHash('request_hash'),
  ],
)
