/**
 * Reads for the holder of a key: the key, its requests, its days. Every statement names the key, and looks at a bounded number of rows.
 * Rules: ledger.md "Reads".
 */

import { and, between, desc, eq, sql } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { models } from '../../../db/schema/prices.ts'
import { usageDaily } from '../../../db/schema/roll-ups.ts'
import { hourAt } from '../../core/windows.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { windowSums } from '../sql/window-sums.ts'
import { DAY_SUMS } from './day-sums.ts'
import { listOfOne } from './receipt-filter.ts'
import { ReceiptPages } from './receipt-pages.ts'
import type { DayPage, KeyAtRest, QuestionOf, Receipt, ReceiptPage } from './reports.ts'

export class CustomerReads {
  readonly #pages: ReceiptPages
  readonly #windowSums: ReturnType<typeof windowSums>
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: Connection) {
    this.#pages = new ReceiptPages(db)
    this.#windowSums = windowSums(db)
    this.#statements = prepare(db)
  }

  key({ keyId, now }: QuestionOf<'key'>): KeyAtRest | undefined {
    const found = this.#statements.key.get({ keyId })
    if (found === undefined) return undefined
    const { number, accountNumber, ...key } = found
    if (now === undefined) return key
    return { ...key, sums: this.#windowSums({ key: number, account: accountNumber, plan: key.plan }, hourAt(now)) }
  }

  /** Undefined: `after` is no receipt of this key. */
  receipts({ keyId, modelId, outcome, kind: _, ...query }: QuestionOf<'receipts'>): ReceiptPage | undefined {
    return this.#pages.page({ of: { keyIds: [keyId] }, modelIds: listOfOne(modelId), outcomes: listOfOne(outcome), ...query })
  }

  receipt({ keyId, requestId }: QuestionOf<'receipt'>): Receipt | undefined {
    const receipt = this.#pages.receipt(requestId)
    return receipt?.keyId === keyId ? receipt : undefined
  }

  /** Reads one row more than is wanted, which tells whether there are more. */
  daily({ keyId, fromDay, toDay, modelId, after = BEFORE_ALL, limit }: QuestionOf<'daily'>): DayPage {
    const place = { afterDay: after.day, afterModel: after.modelId }
    const days = this.#statements.daily.all({ keyId, fromDay, toDay: Math.min(toDay, after.day), modelId, ...place, rows: limit + 1 })
    return { days: days.slice(0, limit), hasMore: days.length > limit }
  }
}

/** A place before every row, because no model has an empty id. */
const BEFORE_ALL = { day: Number.MAX_SAFE_INTEGER, modelId: '' }

const given = sql.placeholder

function prepare(db: Connection) {
  const orm = ormOf(db)
  return {
    key: orm
      .select({
        number: keys.number,
        accountNumber: accounts.number,
        id: keys.id,
        accountId: accounts.id,
        name: keys.name,
        plan: keys.plan,
        limitPicos: keys.limitPicos,
        spentPicos: keys.spentPicos,
        balancePicos: accounts.balancePicos,
        expiresAt: keys.expiresAt,
        isActive: keys.isActive,
        isAccountActive: accounts.isActive,
        lastSyncedAt: keys.lastSyncedAt,
        toppedUpAt: accounts.toppedUpAt,
        createdAt: keys.createdAt,
      })
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(eq(keys.id, given('keyId')))
      .prepare(),
    daily: orm
      .select({
        day: usageDaily.day,
        modelId: models.id,
        ...DAY_SUMS,
      })
      .from(keys)
      .innerJoin(usageDaily, eq(usageDaily.keyNumber, keys.number))
      .innerJoin(models, eq(models.number, usageDaily.modelNumber))
      .where(
        and(
          eq(keys.id, given('keyId')),
          between(usageDaily.day, given('fromDay'), given('toDay')),
          sql`(CAST(${given('modelId')} AS TEXT) IS NULL OR ${models.id} = ${given('modelId')})`,
          sql`(${usageDaily.day} < ${given('afterDay')} OR ${models.id} > ${given('afterModel')})`,
        ),
      )
      .groupBy(usageDaily.day, models.id)
      .orderBy(desc(usageDaily.day), models.id)
      .limit(given('rows'))
      .prepare(),
  }
}
