/**
 * The ledger's tables as drizzle sees them. The tables themselves are made by the files in migrations/, which say what each is for; test/ledger/schema.test.ts
 * compares types, keys, indexes, CHECKs and triggers of the two.
 */

import { sql } from 'drizzle-orm'
import { blob, check, customType, index, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { type Picos, ZERO } from '../src/core/money.ts'

/** The ledger's connection reads every integer as a bigint (`safeIntegers`): money stays one, counts and times become numbers, flags booleans. */
const picos = customType<{ data: Picos; driverData: bigint | null }>({ dataType: () => 'integer' })
const whole = customType<{ data: number; driverData: bigint | number | null }>({ dataType: () => 'integer', fromDriver: Number })
const flag = customType<{ data: boolean; driverData: bigint | number | null }>({
  dataType: () => 'integer',
  toDriver: (value) => (value ? 1 : 0),
  fromDriver: (value) => value === 1n,
})

/** A check goes by its text, as it stands in the migration. */
const checks = (...texts: readonly string[]) => texts.map((it) => check(it, sql.raw(it)))
const notNegative = (...columns: readonly string[]) => checks(...columns.map((column) => `${column} >= 0`))

const FORMATS = ['messages', 'chat', 'responses'] as const
const BASES = ['final', 'partial', 'estimated', 'none'] as const
const oneOf = (column: string, values: readonly string[]) => checks(values.map((value) => `${column} = '${value}'`).join(' OR '))
const isFlag = (column: string) => checks(`${column} IN (0, 1)`)
const isHash = (column: string) => checks(`length(${column}) = 32`)

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
  },
  (table) => [
    uniqueIndex('accounts_id').on(table.id),
    uniqueIndex('accounts_name').on(table.name).where(sql.raw("name <> ''")),
    index('accounts_search').on(sql`lower(name)`),
    ...checks('credited_picos BETWEEN -9000000000000000000 AND 9000000000000000000', 'balance_picos = credited_picos - spent_picos'),
    ...checks('(chain_count = 0) = (chain_hash IS NULL)'),
    ...notNegative('spent_picos', 'chain_count'),
    ...isFlag('is_active'),
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
  },
  (table) => [index('key_secrets_key').on(table.keyNumber), index('key_secrets_display').on(table.display), ...isHash('hash')],
)

export const models = sqliteTable(
  'models',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    id: text('id').notNull(),
  },
  (table) => [uniqueIndex('models_id').on(table.id)],
)

const RATES = [
  'input_rate_picos',
  'output_rate_picos',
  'cache_read_rate_picos',
  'cache_write_5m_rate_picos',
  'cache_write_1h_rate_picos',
  'server_tool_use_rate_picos',
]

export const priceVersions = sqliteTable(
  'price_versions',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    modelNumber: whole('model_number')
      .notNull()
      .references(() => models.number),
    inputRatePicos: picos('input_rate_picos').notNull(),
    outputRatePicos: picos('output_rate_picos').notNull(),
    cacheReadRatePicos: picos('cache_read_rate_picos').notNull(),
    cacheWrite5mRatePicos: picos('cache_write_5m_rate_picos').notNull(),
    cacheWrite1hRatePicos: picos('cache_write_1h_rate_picos').notNull(),
    serverToolUseRatePicos: picos('server_tool_use_rate_picos').notNull(),
  },
  (table) => [
    uniqueIndex('price_versions_rates').on(
      table.modelNumber,
      table.inputRatePicos,
      table.outputRatePicos,
      table.cacheReadRatePicos,
      table.cacheWrite5mRatePicos,
      table.cacheWrite1hRatePicos,
      table.serverToolUseRatePicos,
    ),
    ...notNegative(...RATES),
  ],
)

export const upstreams = sqliteTable(
  'upstreams',
  {
    number: whole('number')
      .primaryKey()
      .$defaultFn(() => sql`null`),
    name: text('name').notNull(),
    model: text('model').notNull(),
  },
  (table) => [uniqueIndex('upstreams_name').on(table.name, table.model)],
)

const COUNTERS = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
]

const counterColumns = () => ({
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

const accountColumn = () => ({
  accountNumber: whole('account_number')
    .notNull()
    .references(() => accounts.number),
})

const chainColumns = () => ({
  lane: whole('lane').notNull().default(0),
  seq: whole('seq').notNull(),
  hash: blob('hash', { mode: 'buffer' }).notNull(),
})
const chainChecks = () => [...notNegative('lane'), ...checks('seq > 0'), ...isHash('hash')]

export const marks = sqliteTable(
  'marks',
  {
    requestId: text('request_id').primaryKey(),
    ...numbered(),
    upstreamNumber: whole('upstream_number').references(() => upstreams.number),
    upstreamMessageId: text('upstream_message_id'),
    upstreamRequestId: text('upstream_request_id'),
    format: text('format', { enum: FORMATS }).notNull(),
    isStream: flag('is_stream').notNull(),
    holdPicos: picos('hold_picos').notNull(),
    startedAt: whole('started_at').notNull(),
    markedAt: whole('marked_at').notNull(),
    basis: text('basis', { enum: BASES }).notNull(),
    bytesPerTokenThousandths: whole('bytes_per_token_thousandths'),
    ...counterColumns(),
  },
  () => [
    ...oneOf('format', FORMATS),
    ...isFlag('is_stream'),
    ...oneOf('basis', BASES),
    ...checks('bytes_per_token_thousandths > 0'),
    ...notNegative('hold_picos', ...COUNTERS),
  ],
)

const OUTCOMES = ['complete', 'fault', 'deadline', 'leaver', 'drain', 'cut', 'recovered'] as const

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
    format: text('format', { enum: FORMATS }).notNull(),
    isStream: flag('is_stream').notNull(),
    outcome: text('outcome', { enum: OUTCOMES }).notNull(),
    basis: text('basis', { enum: BASES }).notNull(),
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
  },
  (table) => [
    uniqueIndex('receipts_request').on(table.requestId),
    index('receipts_over_hold').on(table.requestId).where(sql.raw('cost_picos > hold_picos')),
    index('receipts_waived').on(table.requestId).where(sql.raw('waived_picos > 0')),
    ...oneOf('format', FORMATS),
    ...isFlag('is_stream'),
    ...oneOf('outcome', OUTCOMES),
    ...oneOf('basis', BASES),
    ...checks("bytes_per_token_thousandths IS NULL OR (bytes_per_token_thousandths > 0 AND basis = 'estimated')"),
    ...notNegative('attempts', 'cost_picos', 'waived_picos', 'hold_picos', ...COUNTERS),
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
    /** HTTP status of the upstream; null where none came. */
    status: whole('status'),
    cause: text('cause').notNull(),
    basis: text('basis', { enum: BASES }).notNull(),
    ...counterColumns(),
    pricePicos: picos('price_picos').notNull(),
    startedAt: whole('started_at').notNull(),
    durationMs: whole('duration_ms').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.requestId, table.attempt] }),
    ...checks('attempt > 0'),
    ...oneOf('basis', BASES),
    ...notNegative('price_picos', ...COUNTERS),
  ],
)

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

export const usageDaily = sqliteTable(
  'usage_daily',
  {
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    /** Whole UTC days since 1970. */
    day: whole('day').notNull(),
    modelNumber: whole('model_number')
      .notNull()
      .references(() => models.number),
    priceNumber: whole('price_number')
      .notNull()
      .references(() => priceVersions.number),
    requests: whole('requests').notNull(),
    ...counterColumns(),
    costPicos: picos('cost_picos').notNull(),
    waivedPicos: picos('waived_picos').notNull(),
    estimatedPicos: picos('estimated_picos').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.keyNumber, table.day, table.modelNumber, table.priceNumber] }),
    index('usage_daily_day').on(table.day),
    ...checks('requests > 0'),
    ...notNegative('cost_picos', 'waived_picos', 'estimated_picos', ...COUNTERS),
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

/** Drizzle has no triggers. By name, the table that each guards. */
export const TRIGGERS: Readonly<Record<string, string>> = {
  receipts_exact_price: 'receipts',
  marks_not_settled: 'marks',
  codes_only_redeemed: 'codes',
  codes_in_time: 'codes',
  codes_no_delete: 'codes',
  code_batches_only_disabled: 'code_batches',
  code_batches_no_delete: 'code_batches',
  accounts_no_delete: 'accounts',
  keys_no_delete: 'keys',
  ...Object.fromEntries(
    ['receipts', 'attempts', 'credits', 'price_versions', 'models', 'upstreams', 'boots', 'audit_log'].flatMap((table) => [
      [`${table}_no_update`, table],
      [`${table}_no_delete`, table],
    ]),
  ),
}
