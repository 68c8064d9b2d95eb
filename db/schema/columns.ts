/**
 * The parts of the ledger's tables as drizzle sees them: types of columns, and CHECKs. The files in migrations/ make the tables themselves and say what each is
 * for; test/ledger/schema.test.ts compares types, keys, indexes, CHECKs and triggers of the two.
 */

import { sql } from 'drizzle-orm'
import { blob, check, customType } from 'drizzle-orm/sqlite-core'
import type { Picos } from '../../src/core/money.ts'
import { type RateLimits, ratesOfText, ratesText } from '../../src/core/token-buckets.ts'

/** The ledger's connection reads every integer as a bigint (`safeIntegers`): money stays one, counts and times become numbers, flags booleans. */
export const picos = customType<{ data: Picos; driverData: bigint | null }>({ dataType: () => 'integer' })
export const whole = customType<{ data: number; driverData: bigint | number | null }>({ dataType: () => 'integer', fromDriver: Number })
export const flag = customType<{ data: boolean; driverData: bigint | number | null }>({
  dataType: () => 'integer',
  toDriver: (value) => (value ? 1 : 0),
  fromDriver: (value) => value === 1n,
})

export const rateLimits = customType<{ data: RateLimits; driverData: string }>({
  dataType: () => 'text',
  toDriver: ratesText,
  fromDriver: ratesOfText,
})

/** The name of a check is its text, as it stands in the migration. */
export const checks = (...texts: readonly string[]) => texts.map((it) => check(it, sql.raw(it)))
export const notNegative = (...columns: readonly string[]) => checks(...columns.map((column) => `${column} >= 0`))
export const oneOf = (column: string, values: readonly string[]) => checks(values.map((value) => `${column} = '${value}'`).join(' OR '))
export const isFlag = (column: string) => checks(`${column} IN (0, 1)`)
export const isHash = (column: string) => checks(`length(${column}) = 32`)

/** The place of a row in its account's chain. */
export const chainColumns = () => ({
  lane: whole('lane').notNull().default(0),
  seq: whole('seq').notNull(),
  hash: blob('hash', { mode: 'buffer' }).notNull(),
})
export const chainChecks = () => [...notNegative('lane'), ...checks('seq > 0'), ...isHash('hash')]
