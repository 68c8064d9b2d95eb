/** Sums of a day's roll-ups over the price versions of a model. The money of one key fits int64, because an account's credits do. Rules: ledger.md "Roll-ups". */

import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { usageDaily } from '../../../db/schema/roll-ups.ts'
import { type Picos, picos } from '../../core/money.ts'

const sumOf = (column: SQLiteColumn): SQL<number> => sql`CAST(sum(${column}) AS BIGINT)`.mapWith(Number)
const amountOf = (column: SQLiteColumn): SQL<Picos> => sql`CAST(sum(${column}) AS BIGINT)`.mapWith((sum: bigint) => picos(sum))

export const DAY_SUMS = {
  requests: sumOf(usageDaily.requests),
  usage: {
    input: sumOf(usageDaily.inputTokens),
    output: sumOf(usageDaily.outputTokens),
    cacheRead: sumOf(usageDaily.cacheReadTokens),
    cacheWrite5m: sumOf(usageDaily.cacheWrite5mTokens),
    cacheWrite1h: sumOf(usageDaily.cacheWrite1hTokens),
    serverToolUses: sumOf(usageDaily.serverToolUses),
  },
  costPicos: amountOf(usageDaily.costPicos),
  waivedPicos: amountOf(usageDaily.waivedPicos),
}
