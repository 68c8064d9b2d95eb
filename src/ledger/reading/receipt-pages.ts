/**
 * A page of receipts, newest first, of a key or of all keys of an account, from the page table and from the receipts that have no row in it yet. The
 * connection is a reader's, never the writer's. Rules: ledger.md "Pages".
 */

import { and, desc, eq, sql } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { models, priceVersions, upstreams } from '../../../db/schema/prices.ts'
import { attempts, receipts } from '../../../db/schema/requests.ts'
import type { Outcome, UsageSource } from '../../core/outcome.ts'
import { type ReceiptRow, receiptOf } from '../columns/receipt.ts'
import { type Connection, ormOf } from '../sql/connection.ts'
import { type AttemptRow, attemptOf } from './attempt-rows.ts'
import { LOOKED_AT_MAX, type Page } from './page.ts'
import { isBefore, LATEST, PlaceMerge, placesOfKeys, placesOfTail, type ReceiptPlace } from './receipt-places.ts'

export type PageQuery = Readonly<{
  of: Readonly<{ keyId: string }> | Readonly<{ accountId: string }>
  /** Unix milliseconds of the settle: `from` and later, before `to`. */
  from?: number | undefined
  to?: number | undefined
  modelId?: string | undefined
  outcome?: Outcome | undefined
  usageSource?: UsageSource | undefined
  tag?: string | undefined
  /** `next` of the page before. */
  after?: string | undefined
  /** The most rows in a page, 1 or more. */
  limit: number
}>

/** How many rows are read at once if a filter may refuse them. */
const FILTERED_TOGETHER = 512

export class ReceiptPages {
  readonly #db: Connection
  readonly #rows: ReturnType<typeof prepare>

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
    this.#rows = prepare(db)
  }

  /** One read transaction. Undefined: `after` is no receipt of this key or account. */
  page(query: PageQuery): Page<ReceiptRow> | undefined {
    return this.#db.transaction(() => this.#page(query))()
  }

  /** The numbers of the newest receipts of a walk, at most so many; `next`: where it goes on. Undefined: as of a page. */
  numbers(
    { of, from, to, after }: Pick<PageQuery, 'of' | 'from' | 'to' | 'after'>,
    max: number,
  ): Readonly<{ numbers: readonly number[]; next: string | null }> | undefined {
    const keyNumbers = this.#keyNumbers(of)
    const before = after === undefined ? LATEST : this.#placeOf(after, keyNumbers)
    if (before === undefined) return undefined
    const range = { from: from ?? 0, before: earlier(before, to) }
    const places = new PlaceMerge([placesOfTail(this.#db, keyNumbers, range), ...placesOfKeys(this.#db, keyNumbers, range)])
    const numbers = places.take(max).map(({ number }) => number)
    const last = numbers.at(-1)
    const next = places.isEmpty || last === undefined ? null : (this.#rows.requestIdOf.get({ number: last })?.requestId ?? null)
    return { numbers, next }
  }

  /** Undefined: there is no such receipt. */
  receipt(requestId: string): ReceiptRow | undefined {
    const row = this.#rows.byRequest.get({ requestId })
    return row === undefined ? undefined : receiptOf(row)
  }

  /** The upstream calls of a request that are not the one of its receipt, in their order; the request need not have a receipt. */
  attempts(requestId: string): readonly AttemptRow[] {
    return this.#rows.attempts.all({ requestId }).map(attemptOf)
  }

  #page(query: PageQuery): Page<ReceiptRow> | undefined {
    const keyNumbers = this.#keyNumbers(query.of)
    const before = query.after === undefined ? LATEST : this.#placeOf(query.after, keyNumbers)
    if (before === undefined) return undefined
    const range = { from: query.from ?? 0, before: earlier(before, query.to) }
    // A model that was never asked for is in no receipt.
    if (query.modelId !== undefined && this.#rows.model.get({ modelId: query.modelId }) === undefined) return { rows: [], next: null }
    return this.#collect(query, new PlaceMerge([placesOfTail(this.#db, keyNumbers, range), ...placesOfKeys(this.#db, keyNumbers, range)]))
  }

  #keyNumbers(of: PageQuery['of']): readonly number[] {
    const found =
      'keyId' in of ? this.#rows.numberOfKey.all({ keyId: of.keyId }) : this.#rows.numbersOfAccount.all({ accountId: of.accountId })
    return found.map(({ number }) => number)
  }

  /** Undefined: no receipt of these keys. */
  #placeOf(requestId: string, keyNumbers: readonly number[]): ReceiptPlace | undefined {
    const place = this.#rows.placeOf.get({ requestId })
    return place !== undefined && keyNumbers.includes(place.keyNumber) ? place : undefined
  }

  #collect({ modelId, outcome, usageSource, tag, limit }: PageQuery, places: PlaceMerge): Page<ReceiptRow> {
    const filter = { model: modelId ?? null, outcome: outcome ?? null, basis: usageSource ?? null, tag: tag ?? null }
    const together = Object.values(filter).every((wanted) => wanted === null) ? limit : FILTERED_TOGETHER
    const rows: ReceiptRow[] = []
    let looked = 0
    let last: ReceiptPlace | undefined
    while (rows.length < limit && looked < LOOKED_AT_MAX) {
      const batch = places.take(Math.min(together, LOOKED_AT_MAX - looked))
      if (batch.length === 0) break
      looked += batch.length
      last = batch.at(-1)
      const numbers = JSON.stringify(batch.map(({ number }) => number))
      for (const row of this.#rows.byNumbers.all({ numbers, ...filter })) rows.push(receiptOf(row))
    }
    if (rows.length > limit) {
      rows.length = limit
      return { rows, next: rows.at(-1)?.requestId ?? null }
    }
    const isLast = last === undefined || places.isEmpty
    return { rows, next: isLast ? null : (this.#rows.requestIdOf.get({ number: last?.number })?.requestId ?? null) }
  }
}

/** `place`, or the place of time `to` if `place` is not before that. */
const earlier = (place: ReceiptPlace, to: number | undefined): ReceiptPlace => {
  const end = to === undefined ? LATEST : { settledAt: to, number: 0 }
  return isBefore(place, end) ? place : end
}

const given = sql.placeholder

const prepare = (db: Connection) => ({ ...rowReads(db), ...placeReads(db), ...attemptReads(db) })

function rowReads(db: Connection) {
  const orm = ormOf(db)
  const columns = {
    receipt: receipts,
    price: priceVersions,
    upstream: upstreams,
    accountId: accounts.id,
    keyId: keys.id,
    keyName: keys.name,
    modelId: models.id,
  }
  const rows = () =>
    orm
      .select(columns)
      .from(receipts)
      .innerJoin(keys, eq(keys.number, receipts.keyNumber))
      .innerJoin(accounts, eq(accounts.number, receipts.accountNumber))
      .innerJoin(priceVersions, eq(priceVersions.number, receipts.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .leftJoin(upstreams, eq(upstreams.number, receipts.upstreamNumber))
  return {
    byNumbers: rows()
      .where(
        and(
          sql`${receipts.number} in (select cast(value as bigint) from json_each(cast(${given('numbers')} as text)))`,
          sql`(cast(${given('model')} as text) is null or ${models.id} = ${given('model')})`,
          sql`(cast(${given('outcome')} as text) is null or ${receipts.outcome} = ${given('outcome')})`,
          sql`(cast(${given('basis')} as text) is null or ${receipts.basis} = ${given('basis')})`,
          sql`(cast(${given('tag')} as text) is null or ${receipts.tag} = ${given('tag')})`,
        ),
      )
      .orderBy(desc(receipts.settledAt), desc(receipts.number))
      .prepare(),
    byRequest: rows()
      .where(eq(receipts.requestId, given('requestId')))
      .prepare(),
  }
}

function placeReads(db: Connection) {
  const orm = ormOf(db)
  return {
    requestIdOf: orm
      .select({ requestId: receipts.requestId })
      .from(receipts)
      .where(eq(receipts.number, given('number')))
      .prepare(),
    placeOf: orm
      .select({ keyNumber: receipts.keyNumber, settledAt: receipts.settledAt, number: receipts.number })
      .from(receipts)
      .where(eq(receipts.requestId, given('requestId')))
      .prepare(),
    model: orm
      .select({ number: models.number })
      .from(models)
      .where(eq(models.id, given('modelId')))
      .prepare(),
    numberOfKey: orm
      .select({ number: keys.number })
      .from(keys)
      .where(eq(keys.id, given('keyId')))
      .prepare(),
    numbersOfAccount: orm
      .select({ number: keys.number })
      .from(keys)
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .where(eq(accounts.id, given('accountId')))
      .prepare(),
  }
}

function attemptReads(db: Connection) {
  const orm = ormOf(db)
  return {
    attempts: orm
      .select({ attempt: attempts, upstream: upstreams, accountId: accounts.id, keyId: keys.id, modelId: models.id })
      .from(attempts)
      .innerJoin(keys, eq(keys.number, attempts.keyNumber))
      .innerJoin(accounts, eq(accounts.number, attempts.accountNumber))
      .innerJoin(priceVersions, eq(priceVersions.number, attempts.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .innerJoin(upstreams, eq(upstreams.number, attempts.upstreamNumber))
      .where(eq(attempts.requestId, given('requestId')))
      .orderBy(attempts.attempt)
      .prepare(),
  }
}
