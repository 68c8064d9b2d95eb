/** What is sold and who serves it: models, the prices that they had, upstreams. */

import { sql } from 'drizzle-orm'
import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { notNegative, picos, whole } from './columns.ts'

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
    priceGroup: text('price_group').notNull().default(''),
    abovePromptTokens: whole('above_prompt_tokens').notNull().default(0),
    factorMillionths: whole('factor_millionths').notNull().default(1_000_000),
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
      table.priceGroup,
      table.abovePromptTokens,
      table.factorMillionths,
    ),
    ...notNegative(...RATES, 'above_prompt_tokens', 'factor_millionths'),
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
