/** Sums of receipts: by day of all, of those with a tag, and of what calls cost us; by hour of all that tells them apart. */

import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { accountColumn, keys } from './accounts.ts'
import { checks, notNegative, picos, whole } from './columns.ts'
import { models, priceVersions, upstreams } from './prices.ts'
import { COUNTERS, counterColumns } from './requests.ts'

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

export const usageTags = sqliteTable(
  'usage_tags',
  {
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    /** Whole UTC days since 1970. */
    day: whole('day').notNull(),
    /** '': all tags beyond the first of a key and day. */
    tag: text('tag').notNull(),
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
    primaryKey({ columns: [table.keyNumber, table.day, table.tag, table.modelNumber, table.priceNumber] }),
    ...checks('requests > 0'),
    ...notNegative('cost_picos', 'waived_picos', 'estimated_picos', ...COUNTERS),
  ],
)

export const marginDaily = sqliteTable(
  'margin_daily',
  {
    /** Whole UTC days since 1970. */
    day: whole('day').notNull(),
    ...accountColumn(),
    modelNumber: whole('model_number')
      .notNull()
      .references(() => models.number),
    upstreamNumber: whole('upstream_number')
      .notNull()
      .references(() => upstreams.number),
    lane: whole('lane').notNull(),
    requests: whole('requests').notNull(),
    calls: whole('calls').notNull(),
    costPicos: picos('cost_picos').notNull(),
    waivedPicos: picos('waived_picos').notNull(),
    upstreamCostPicos: picos('upstream_cost_picos').notNull(),
    callsCostPicos: picos('calls_cost_picos').notNull(),
    cacheLostPicos: picos('cache_lost_picos').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.day, table.accountNumber, table.modelNumber, table.upstreamNumber, table.lane] }),
    ...notNegative(
      'lane',
      'requests',
      'calls',
      'cost_picos',
      'waived_picos',
      'upstream_cost_picos',
      'calls_cost_picos',
      'cache_lost_picos',
    ),
  ],
)

export const spendHours = sqliteTable(
  'spend_hours',
  {
    keyNumber: whole('key_number')
      .notNull()
      .references(() => keys.number),
    /** Whole UTC hours since 1970. */
    hour: whole('hour').notNull(),
    priceNumber: whole('price_number')
      .notNull()
      .references(() => priceVersions.number),
    /** 0: no upstream. */
    upstreamNumber: whole('upstream_number').notNull(),
    format: text('format').notNull(),
    outcome: text('outcome').notNull(),
    /** '': all tags beyond the first of a key and day; '(none)': no tag. */
    tag: text('tag').notNull(),
    requests: whole('requests').notNull(),
    ...counterColumns(),
    costPicos: picos('cost_picos').notNull(),
    waivedPicos: picos('waived_picos').notNull(),
    estimatedPicos: picos('estimated_picos').notNull(),
    upstreamCostPicos: picos('upstream_cost_picos').notNull(),
    /** The requests whose cost at their upstream is known. */
    costed: whole('costed').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.keyNumber, table.hour, table.priceNumber, table.upstreamNumber, table.format, table.outcome, table.tag],
    }),
    ...checks('requests > 0'),
    ...notNegative('cost_picos', 'waived_picos', 'estimated_picos', 'upstream_cost_picos', 'costed', ...COUNTERS),
  ],
)
