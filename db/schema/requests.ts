/** The rows of a request: a checkpoint while it runs, then its receipt, its failed calls, and its id under an Idempotency-Key. Their sums are in roll-ups.ts. */

import { sql } from 'drizzle-orm'
import { blob, index, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { FORMAT_NAMES } from '../../src/core/format.ts'
import { OUTCOMES, USAGE_SOURCES } from '../../src/core/outcome.ts'
import { accountColumn, keys } from './accounts.ts'
import { boots } from './boots.ts'
import { chainChecks, chainColumns, checks, flag, isFlag, isHash, notNegative, oneOf, picos, whole } from './columns.ts'
import { priceVersions, upstreams } from './prices.ts'

export const COUNTERS = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
]

export const counterColumns = () => ({
  inputTokens: whole('input_tokens').notNull(),
  outputTokens: whole('output_tokens').notNull(),
  cacheReadTokens: whole('cache_read_tokens').notNull(),
  cacheWrite5mTokens: whole('cache_write_5m_tokens').notNull(),
  cacheWrite1hTokens: whole('cache_write_1h_tokens').notNull(),
  serverToolUses: whole('server_tool_uses').notNull(),
})

const numbered = () => ({
  keyNumber: whole('key_number')
    .notNull()
    .references(() => keys.number),
  priceNumber: whole('price_number')
    .notNull()
    .references(() => priceVersions.number),
  bootNumber: whole('boot_number')
    .notNull()
    .references(() => boots.number),
})

export const marks = sqliteTable(
  'marks',
  {
    requestId: text('request_id').primaryKey(),
    ...numbered(),
    upstreamNumber: whole('upstream_number').references(() => upstreams.number),
    upstreamMessageId: text('upstream_message_id'),
    upstreamRequestId: text('upstream_request_id'),
    format: text('format', { enum: FORMAT_NAMES }).notNull(),
    isStream: flag('is_stream').notNull(),
    holdPicos: picos('hold_picos').notNull(),
    startedAt: whole('started_at').notNull(),
    markedAt: whole('marked_at').notNull(),
    basis: text('basis', { enum: USAGE_SOURCES }).notNull(),
    bytesPerTokenThousandths: whole('bytes_per_token_thousandths'),
    ...counterColumns(),
    tag: text('tag'),
    upstreamCostNumber: whole('upstream_cost_number').references(() => priceVersions.number),
  },
  () => [
    ...oneOf('format', FORMAT_NAMES),
    ...isFlag('is_stream'),
    ...oneOf('basis', USAGE_SOURCES),
    ...checks('bytes_per_token_thousandths > 0'),
    ...notNegative('hold_picos', ...COUNTERS),
  ],
)

export const receipts = sqliteTable(
  'receipts',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    requestId: text('request_id').notNull(),
    ...accountColumn(),
    ...numbered(),
    upstreamNumber: whole('upstream_number').references(() => upstreams.number),
    upstreamMessageId: text('upstream_message_id'),
    upstreamRequestId: text('upstream_request_id'),
    attempts: whole('attempts').notNull(),
    format: text('format', { enum: FORMAT_NAMES }).notNull(),
    isStream: flag('is_stream').notNull(),
    outcome: text('outcome', { enum: OUTCOMES }).notNull(),
    basis: text('basis', { enum: USAGE_SOURCES }).notNull(),
    bytesPerTokenThousandths: whole('bytes_per_token_thousandths'),
    status: whole('status').notNull(),
    ...counterColumns(),
    costPicos: picos('cost_picos').notNull(),
    waivedPicos: picos('waived_picos').notNull(),
    holdPicos: picos('hold_picos').notNull(),
    sessionHash: blob('session_hash', { mode: 'buffer' }),
    startedAt: whole('started_at').notNull(),
    settledAt: whole('settled_at').notNull(),
    day: whole('day').notNull(),
    firstByteMs: whole('first_byte_ms'),
    durationMs: whole('duration_ms').notNull(),
    ...chainColumns(),
    tag: text('tag'),
    upstreamCostNumber: whole('upstream_cost_number').references(() => priceVersions.number),
    upstreamCostPicos: picos('upstream_cost_picos'),
    cacheLostPicos: picos('cache_lost_picos'),
  },
  (table) => [
    uniqueIndex('receipts_request').on(table.requestId),
    index('receipts_over_hold').on(table.requestId).where(sql.raw('cost_picos > hold_picos')),
    index('receipts_waived').on(table.requestId).where(sql.raw('waived_picos > 0')),
    ...oneOf('format', FORMAT_NAMES),
    ...isFlag('is_stream'),
    ...oneOf('outcome', OUTCOMES),
    ...oneOf('basis', USAGE_SOURCES),
    ...checks("bytes_per_token_thousandths IS NULL OR (bytes_per_token_thousandths > 0 AND basis = 'estimated')"),
    ...notNegative('attempts', 'cost_picos', 'waived_picos', 'hold_picos', ...COUNTERS),
    ...notNegative('upstream_cost_picos', 'cache_lost_picos'),
    ...isHash('session_hash'),
    ...checks('cost_picos = 0 OR waived_picos = 0'),
    ...checks("day = settled_at / 86400000 OR (day = started_at / 86400000 AND outcome = 'recovered')"),
    ...chainChecks(),
  ],
)

export const receiptPages = sqliteTable(
  'receipt_pages',
  {
    keyNumber: whole('key_number').notNull(),
    /** Unix milliseconds. */
    settledAt: whole('settled_at').notNull(),
    receiptNumber: whole('receipt_number').notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyNumber, table.settledAt, table.receiptNumber] })],
)

export const attempts = sqliteTable(
  'attempts',
  {
    requestId: text('request_id').notNull(),
    attempt: whole('attempt').notNull(),
    ...accountColumn(),
    ...numbered(),
    upstreamNumber: whole('upstream_number')
      .notNull()
      .references(() => upstreams.number),
    upstreamMessageId: text('upstream_message_id'),
    upstreamRequestId: text('upstream_request_id'),
    /** HTTP status of the upstream; null: no status came. */
    status: whole('status'),
    cause: text('cause').notNull(),
    basis: text('basis', { enum: USAGE_SOURCES }).notNull(),
    ...counterColumns(),
    pricePicos: picos('price_picos').notNull(),
    startedAt: whole('started_at').notNull(),
    durationMs: whole('duration_ms').notNull(),
    upstreamCostNumber: whole('upstream_cost_number').references(() => priceVersions.number),
    upstreamCostPicos: picos('upstream_cost_picos'),
  },
  (table) => [
    primaryKey({ columns: [table.requestId, table.attempt] }),
    ...checks('attempt > 0'),
    ...oneOf('basis', USAGE_SOURCES),
    ...notNegative('price_picos', ...COUNTERS, 'upstream_cost_picos'),
  ],
)

export const idempotency = sqliteTable(
  'idempotency',
  {
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    headerHash: blob('header_hash', { mode: 'buffer' }).notNull(),
    bodyHash: blob('body_hash', { mode: 'buffer' }).notNull(),
    requestId: text('request_id').notNull(),
    expiresAt: whole('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.keyNumber, table.headerHash] }),
    index('idempotency_expiry').on(table.expiresAt),
    ...isHash('header_hash'),
    ...isHash('body_hash'),
  ],
)
