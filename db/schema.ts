/** The ledger's tables as drizzle sees them. The tables themselves, with the CHECKs that guard them, are made by migrations/0001_init.sql. */

import { blob, customType, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { type Picos, ZERO } from '../src/core/money.ts'

/** The ledger's connection reads every integer as a bigint (`safeIntegers`): money stays one, counts and times become numbers, flags booleans. */
const picos = customType<{ data: Picos; driverData: bigint | null }>({ dataType: () => 'integer' })
const whole = customType<{ data: number; driverData: bigint | null }>({
  dataType: () => 'integer',
  toDriver: (value: number | null) => (value === null ? null : BigInt(value)),
  fromDriver: Number,
})
const flag = customType<{ data: boolean; driverData: bigint | null }>({
  dataType: () => 'integer',
  toDriver: (value) => (value ? 1n : 0n),
  fromDriver: (value) => value === 1n,
})

export const accounts = sqliteTable('accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  creditedPicos: picos('credited_picos').notNull().default(ZERO),
  spentPicos: picos('spent_picos').notNull().default(ZERO),
  balancePicos: picos('balance_picos').notNull().default(ZERO),
  heldPicos: picos('held_picos').notNull().default(ZERO),
  isActive: flag('is_active').notNull().default(true),
  toppedUpAt: whole('topped_up_at'),
  createdAt: whole('created_at').notNull(),
})

export const keys = sqliteTable(
  'keys',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text('name').notNull(),
    plan: text('plan').notNull(),
    limitPicos: picos('limit_picos'),
    spentPicos: picos('spent_picos').notNull().default(ZERO),
    heldPicos: picos('held_picos').notNull().default(ZERO),
    expiresAt: whole('expires_at'),
    isActive: flag('is_active').notNull().default(true),
    lastSyncedAt: whole('last_synced_at').notNull(),
    createdAt: whole('created_at').notNull(),
  },
  (table) => [index('keys_account').on(table.accountId)],
)

export const keySecrets = sqliteTable(
  'key_secrets',
  {
    hash: blob('hash', { mode: 'buffer' }).primaryKey(),
    keyId: text('key_id')
      .notNull()
      .references(() => keys.id),
    display: text('display').notNull(),
    validUntil: whole('valid_until'),
    createdAt: whole('created_at').notNull(),
  },
  (table) => [index('key_secrets_key').on(table.keyId)],
)

/** Whose, what and at which rates: a hold hands these to its receipt. */
const requestColumns = () => ({
  requestId: text('request_id').primaryKey(),
  accountId: text('account_id')
    .notNull()
    .references(() => accounts.id),
  keyId: text('key_id')
    .notNull()
    .references(() => keys.id),
  modelId: text('model_id').notNull(),
  format: text('format', { enum: ['messages', 'chat', 'responses'] }).notNull(),
  isStream: flag('is_stream').notNull(),
  inputRatePicos: picos('input_rate_picos').notNull(),
  outputRatePicos: picos('output_rate_picos').notNull(),
  cacheReadRatePicos: picos('cache_read_rate_picos').notNull(),
  cacheWrite5mRatePicos: picos('cache_write_5m_rate_picos').notNull(),
  cacheWrite1hRatePicos: picos('cache_write_1h_rate_picos').notNull(),
  serverToolUseRatePicos: picos('server_tool_use_rate_picos').notNull(),
  bootId: text('boot_id').notNull(),
  startedAt: whole('started_at').notNull(),
})

export const holds = sqliteTable('holds', {
  ...requestColumns(),
  amountPicos: picos('amount_picos').notNull(),
  markedAt: whole('marked_at'),
  markedInputTokens: whole('marked_input_tokens').notNull(),
  markedOutputTokens: whole('marked_output_tokens').notNull(),
  markedCacheReadTokens: whole('marked_cache_read_tokens').notNull(),
  markedCacheWrite5mTokens: whole('marked_cache_write_5m_tokens').notNull(),
  markedCacheWrite1hTokens: whole('marked_cache_write_1h_tokens').notNull(),
  markedServerToolUses: whole('marked_server_tool_uses').notNull(),
})

const usageColumns = () => ({
  inputTokens: whole('input_tokens').notNull(),
  outputTokens: whole('output_tokens').notNull(),
  cacheReadTokens: whole('cache_read_tokens').notNull(),
  cacheWrite5mTokens: whole('cache_write_5m_tokens').notNull(),
  cacheWrite1hTokens: whole('cache_write_1h_tokens').notNull(),
  serverToolUses: whole('server_tool_uses').notNull(),
  costPicos: picos('cost_picos').notNull(),
  waivedPicos: picos('waived_picos').notNull(),
})

export const receipts = sqliteTable('receipts', {
  ...requestColumns(),
  ...usageColumns(),
  outcome: text('outcome', { enum: ['complete', 'fault', 'deadline', 'leaver', 'drain', 'cut', 'recovered'] }).notNull(),
  usageSource: text('usage_source', { enum: ['final', 'partial', 'estimated', 'none'] }).notNull(),
  status: whole('status').notNull(),
  holdPicos: picos('hold_picos').notNull(),
  settledAt: whole('settled_at').notNull(),
  firstByteMs: whole('first_byte_ms'),
  durationMs: whole('duration_ms').notNull(),
})

export const topUps = sqliteTable('top_ups', {
  id: text('id').primaryKey(),
  accountId: text('account_id')
    .notNull()
    .references(() => accounts.id),
  amountPicos: picos('amount_picos').notNull(),
  ref: text('ref').notNull(),
  createdAt: whole('created_at').notNull(),
})

export const usageDaily = sqliteTable(
  'usage_daily',
  {
    accountId: text('account_id').notNull(),
    keyId: text('key_id').notNull(),
    /** Whole UTC days since 1970. */
    day: whole('day').notNull(),
    modelId: text('model_id').notNull(),
    requests: whole('requests').notNull(),
    ...usageColumns(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.keyId, table.day, table.modelId] })],
)

export const auditLog = sqliteTable('audit_log', {
  id: integer('id').primaryKey(),
  at: whole('at').notNull(),
  action: text('action').notNull(),
  target: text('target').notNull(),
  detail: text('detail').notNull(),
})
