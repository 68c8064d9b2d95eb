/**
 * What the holder of a key may read of it: the key, its requests, its days. Every statement names the key, and looks at a bounded number of rows.
 * Rules: ledger.md "Reads".
 */

import type { Database } from 'bun:sqlite'
import { and, between, desc, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { accounts, keys, models, priceVersions, receipts, usageDaily } from '../../db/schema.ts'
import type { DayOfModel, KeyAtRest, QuestionOf, Receipt, ReceiptPage } from './reports.ts'

/** A year of some thirty models. */
const DAYS_OF_MODELS_MAX = 10_000

export class CustomerReads {
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: Database) {
    this.#statements = prepare(db)
  }

  key({ keyId }: QuestionOf<'key'>): KeyAtRest | undefined {
    return this.#statements.key.get({ keyId })
  }

  /** Undefined: `after` is no receipt of this key. */
  receipts({ keyId, limit, after, ...filters }: QuestionOf<'receipts'>): ReceiptPage | undefined {
    const place = after === undefined ? LATEST : this.#statements.receipt.get({ keyId, requestId: after })
    if (place === undefined) return undefined
    const { settledAt, requestId } = place
    const found = this.#statements.receipts.all({ ...ALL, ...filters, keyId, settledAt, requestId, limit: limit + 1 })
    const rows = found.slice(0, limit)
    return { rows, next: found.length > limit ? (rows.at(-1)?.requestId ?? null) : null }
  }

  receipt({ keyId, requestId }: QuestionOf<'receipt'>): Receipt | undefined {
    return this.#statements.receipt.get({ keyId, requestId })
  }

  daily({ keyId, fromDay, toDay, modelId }: QuestionOf<'daily'>): readonly DayOfModel[] {
    return this.#statements.daily.all({ keyId, fromDay, toDay, modelId })
  }
}

const LATEST = { settledAt: Number.MAX_SAFE_INTEGER, requestId: '' }
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER, modelId: null, outcome: null }
const given = sql.placeholder

function prepare(db: Database) {
  const orm = drizzle(db)
  return {
    key: orm
      .select({
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
        createdAt: keys.createdAt,
      })
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(eq(keys.id, given('keyId')))
      .prepare(),
    receipt: orm
      .select(RECEIPT)
      .from(receipts)
      .innerJoin(priceVersions, eq(priceVersions.number, receipts.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .innerJoin(keys, eq(keys.number, receipts.keyNumber))
      .where(and(eq(receipts.requestId, given('requestId')), eq(keys.id, given('keyId'))))
      .prepare(),
    receipts: orm
      .select(RECEIPT)
      .from(receipts)
      .innerJoin(priceVersions, eq(priceVersions.number, receipts.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .innerJoin(keys, eq(keys.number, receipts.keyNumber))
      .where(
        and(
          eq(keys.id, given('keyId')),
          sql`${receipts.settledAt} >= ${given('from')} and ${receipts.settledAt} < ${given('to')}`,
          sql`(${receipts.settledAt}, ${receipts.requestId}) < (${given('settledAt')}, ${given('requestId')})`,
          sql`(${given('modelId')} is null or ${models.id} = ${given('modelId')})`,
          sql`(${given('outcome')} is null or ${receipts.outcome} = ${given('outcome')})`,
        ),
      )
      .orderBy(desc(receipts.settledAt), desc(receipts.requestId))
      .limit(given('limit'))
      .prepare(),
    daily: orm
      .select({
        day: usageDaily.day,
        modelId: models.id,
        requests: usageDaily.requests,
        usage: countersOf(usageDaily),
        costPicos: usageDaily.costPicos,
        waivedPicos: usageDaily.waivedPicos,
      })
      .from(keys)
      .innerJoin(usageDaily, eq(usageDaily.keyNumber, keys.number))
      .innerJoin(models, eq(models.number, usageDaily.modelNumber))
      .where(
        and(
          eq(keys.id, given('keyId')),
          between(usageDaily.day, given('fromDay'), given('toDay')),
          sql`(${given('modelId')} IS NULL OR ${models.id} = ${given('modelId')})`,
        ),
      )
      .orderBy(desc(usageDaily.day), models.id)
      .limit(DAYS_OF_MODELS_MAX)
      .prepare(),
  }
}

const countersOf = (table: typeof receipts | typeof usageDaily) => ({
  input: table.inputTokens,
  output: table.outputTokens,
  cacheRead: table.cacheReadTokens,
  cacheWrite5m: table.cacheWrite5mTokens,
  cacheWrite1h: table.cacheWrite1hTokens,
  serverToolUses: table.serverToolUses,
})

const RECEIPT = {
  requestId: receipts.requestId,
  modelId: models.id,
  format: receipts.format,
  isStream: receipts.isStream,
  outcome: receipts.outcome,
  usageSource: receipts.basis,
  status: receipts.status,
  attempts: receipts.attempts,
  usage: countersOf(receipts),
  rates: {
    input: priceVersions.inputRatePicos,
    output: priceVersions.outputRatePicos,
    cacheRead: priceVersions.cacheReadRatePicos,
    cacheWrite5m: priceVersions.cacheWrite5mRatePicos,
    cacheWrite1h: priceVersions.cacheWrite1hRatePicos,
    serverToolUse: priceVersions.serverToolUseRatePicos,
  },
  costPicos: receipts.costPicos,
  waivedPicos: receipts.waivedPicos,
  startedAt: receipts.startedAt,
  settledAt: receipts.settledAt,
  firstByteMs: receipts.firstByteMs,
  durationMs: receipts.durationMs,
} as const
