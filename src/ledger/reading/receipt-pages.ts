/**
 * A page of receipts, newest first, of a key or of all keys of an account, from the page table and from the receipts that have no row in it yet. The
 * connection is a reader's, never the writer's. Rules: ledger.md "Pages".
 */

import { desc, eq, sql } from 'drizzle-orm'
import { accounts, keys } from '../../../db/schema/accounts.ts'
import { models, priceVersions, upstreams } from '../../../db/schema/prices.ts'
import { attempts, receipts } from '../../../db/schema/requests.ts'
import { type ReceiptRow, receiptOf } from '../columns/receipt.ts'
import { type Connection, ormOf, type Value } from '../sql/connection.ts'
import { among, listText, numbersIn, textsIn } from '../sql/sql-list.ts'
import { type AttemptRow, attemptOf } from './attempt-rows.ts'
import { LOOKED_AT_MAX, type Page } from './page.ts'
import { FILTERED, filterValues, isFiltering, type ReceiptFilter, type ReceiptsOf } from './receipt-filter.ts'
import { isBefore, LATEST, PlaceMerge, placesOfKeys, placesOfTail, type ReceiptPlace } from './receipt-places.ts'

/** `of`: at least one of its lists. */
export type PageQuery = ReceiptFilter &
  Readonly<{
    of: ReceiptsOf
    /** Unix milliseconds of the settle: `from` and later, before `to`. */
    from?: number | undefined
    to?: number | undefined
    /** `next` of the page before. */
    after?: string | undefined
    /** The most rows in a page, 1 or more. */
    limit: number
  }>

const KEYS_MAX = 10_000
/** How many rows are read at once if a filter may refuse them. */
const FILTERED_TOGETHER = 512

export class ReceiptPages {
  readonly #db: Connection
  readonly #rows: ReturnType<typeof prepare>
  readonly #keysMax: number

  /** `db`: a connection that gives integers as bigints. `keysMax`: several accounts with more keys than this are not walked key by key. */
  constructor(db: Connection, keysMax = KEYS_MAX) {
    this.#db = db
    this.#keysMax = keysMax
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
    if (query.modelIds !== undefined && this.#rows.anyModel.get(JSON.stringify(query.modelIds)) === null) return { rows: [], next: null }
    return this.#collect(query, new PlaceMerge([placesOfTail(this.#db, keyNumbers, range), ...placesOfKeys(this.#db, keyNumbers, range)]))
  }

  /** Whether a page of them can walk through their keys: a key, keys or an account always, several accounts where they have few. */
  isWalked(of: ReceiptsOf): boolean {
    if (of.keyIds !== undefined || of.accountIds?.length === 1) return true
    return of.accountIds !== undefined && this.#keyNumbers(of).length <= this.#keysMax
  }

  /** Whether there are all of these keys, each of one of the accounts. */
  hasKeys({ keyIds, accountIds }: Required<ReceiptsOf> & Readonly<{ keyIds: readonly string[] }>): boolean {
    const found = this.#rows.numbersOfKeys.all({ keys: JSON.stringify(keyIds), accounts: listText(accountIds) })
    return found.length === new Set(keyIds).size
  }

  #keyNumbers({ keyIds, accountIds }: ReceiptsOf): readonly number[] {
    const accounts = listText(accountIds)
    const rows = accountIds?.length === 1 ? Number.MAX_SAFE_INTEGER : this.#keysMax + 1
    const found =
      keyIds === undefined
        ? this.#rows.numbersOfAccounts.all({ accounts, rows })
        : this.#rows.numbersOfKeys.all({ keys: JSON.stringify(keyIds), accounts })
    return found.map(({ number }) => Number(number))
  }

  /** Undefined: no receipt of these keys. */
  #placeOf(requestId: string, keyNumbers: readonly number[]): ReceiptPlace | undefined {
    const place = this.#rows.placeOf.get({ requestId })
    return place !== undefined && keyNumbers.includes(place.keyNumber) ? place : undefined
  }

  /** The numbers of those receipts that the filter lets through. */
  #wanted(numbers: string, values: ReturnType<typeof filterValues>): string {
    return JSON.stringify(this.#rows.wanted.all({ numbers, ...values }).map(({ number }) => Number(number)))
  }

  #collect({ limit, ...filter }: PageQuery, places: PlaceMerge): Page<ReceiptRow> {
    const values = isFiltering(filter) ? filterValues(filter) : undefined
    const together = values === undefined ? limit : FILTERED_TOGETHER
    const rows: ReceiptRow[] = []
    let looked = 0
    let last: ReceiptPlace | undefined
    while (rows.length < limit && looked < LOOKED_AT_MAX) {
      const batch = places.take(Math.min(together, LOOKED_AT_MAX - looked))
      if (batch.length === 0) break
      looked += batch.length
      last = batch.at(-1)
      const those = JSON.stringify(batch.map(({ number }) => number))
      const numbers = values === undefined ? those : this.#wanted(those, values)
      for (const row of this.#rows.byNumbers.all({ numbers })) rows.push(receiptOf(row))
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

type Numbered = { number: bigint }

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
      .where(sql`${receipts.number} in (select cast(value as bigint) from json_each(cast(${given('numbers')} as text)))`)
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
    anyModel: db.query<{ number: bigint }, [string]>(`SELECT number FROM models WHERE id IN (${textsIn('?1')}) LIMIT 1`),
    numbersOfKeys: db.query<Numbered, [{ keys: string; accounts: string | null }]>(
      `SELECT k.number FROM keys k JOIN accounts a ON a.number = k.account_number
       WHERE k.id IN (${textsIn('$keys')}) AND ${among('a.id', '$accounts')}`,
    ),
    numbersOfAccounts: db.query<Numbered, [{ accounts: string | null; rows: number }]>(
      `SELECT k.number FROM accounts a JOIN keys k ON k.account_number = a.number WHERE a.id IN (${textsIn('$accounts')}) LIMIT $rows`,
    ),
    wanted: db.query<Numbered, [Record<string, Value>]>(
      `SELECT r.number FROM receipts r JOIN price_versions p ON p.number = r.price_number JOIN models m ON m.number = p.model_number
         LEFT JOIN upstreams u ON u.number = r.upstream_number
       WHERE r.number IN (${numbersIn('$numbers')}) AND ${FILTERED}`,
    ),
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
