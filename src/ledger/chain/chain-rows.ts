/**
 * The rows of the chains as the ledger holds them: receipts in the order in which they were written, which is also their order in every chain, and the credits of an
 * account by their place. They are read a thousand at a time, so that a ledger of any size needs the same memory. Rules: ledger.md "Chain".
 */

import { STORED_RECEIPTS, type StoredReceipt } from '../columns/receipt.ts'
import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import { type ChainPlace, type ChainRow, ChainTexts, CREDITS, PLACES, placeOf, type StoredCredit, type StoredPlace } from './chain-row.ts'

/** A range of places in a lane, both ends included. */
export type Places = Readonly<{ lane: number; first: number; last: number }>

const NUMBER_MAX = 2n ** 63n - 1n
const NUMBER_MIN = -NUMBER_MAX
const TOGETHER = 1_000
/** How many keys are asked for their receipts between two pauses, since many keys may have none. */
const KEYS_TOGETHER = 64
/** How many places are read at once: without their texts they take as long as a thousand whole rows. */
const PLACES_TOGETHER = 4_000

export class ChainRows {
  readonly #db: Connection
  readonly #texts: ChainTexts

  constructor(db: Connection) {
    this.#db = db
    this.#texts = new ChainTexts(db)
  }

  /** Receipts with greater numbers than `after`, to `end`, in the order in which they were written. */
  *receipts(after = 0n, end = NUMBER_MAX): Generator<ChainRow> {
    const query = this.#db.query<StoredReceipt, [bigint, bigint]>(
      `${STORED_RECEIPTS} WHERE r.number > ?1 AND r.number <= ?2 ORDER BY r.number LIMIT ${TOGETHER}`,
    )
    for (let last = after; ; ) {
      const rows = query.all(last, end)
      for (const row of rows) yield this.#texts.receipt(row)
      const lastRow = rows.at(-1)
      if (lastRow === undefined) return
      last = lastRow.number
    }
  }

  /**
   * The rows of the account in these lanes; the rows of one lane come in their order. Undefined comes after every thousand rows that were looked at, also rows of other
   * accounts: there the reader may pause.
   */
  *ofAccount(account: number, lanes: readonly Places[]): Generator<ChainRow | undefined> {
    const stored = this.#byNumber<StoredReceipt>(STORED_RECEIPTS, TOGETHER, account, lanes)
    yield* this.#withCredits(account, lanes, stored, (row) => this.#texts.receipt(row))
  }

  /** Like `ofAccount`, without the texts of the rows, which are most of the work. */
  *placesOf(account: number, lanes: readonly Places[]): Generator<ChainPlace | undefined> {
    yield* this.#withCredits(account, lanes, this.#byNumber<StoredPlace>(PLACES, PLACES_TOGETHER, account, lanes), placeOf)
  }

  *#withCredits<Stored extends { lane: bigint; seq: bigint }, Row extends ChainPlace>(
    account: number,
    lanes: readonly Places[],
    stored: Iterable<Stored | undefined>,
    rowOf: (stored: Stored) => Row,
  ): Generator<Row | ChainRow | undefined> {
    const walked = new Map(lanes.map(({ lane, first, last }) => [lane, { next: first, last }]))
    for (const one of stored) {
      if (one === undefined) {
        yield undefined
        continue
      }
      const lane = walked.get(Number(one.lane))
      if (lane === undefined || one.seq < lane.next || one.seq > lane.last) continue
      const receipt = rowOf(one)
      if (receipt.seq > lane.next) yield* this.#creditsUntil(account, receipt.lane, lane.next, receipt.seq - 1)
      yield receipt
      lane.next = receipt.seq + 1
    }
    for (const [lane, { next, last }] of walked) yield* this.#creditsUntil(account, lane, next, last)
  }

  *#creditsUntil(account: number, lane: number, from: number, last: number): Generator<ChainRow> {
    for (const credit of this.credits(account, lane, from)) {
      if (credit.seq > last) return
      yield credit
    }
  }

  /** The account's receipts in the order of their numbers, `together` at a time, with undefined after each batch. */
  *#byNumber<Stored extends object>(
    select: string,
    together: number,
    account: number,
    lanes: readonly Places[],
  ): Generator<Stored | undefined> {
    const first = Math.min(...lanes.map((places) => places.first))
    const last = Math.max(...lanes.map((places) => places.last))
    if (this.#arePagesWhole) {
      // As an array the numbers are found by the primary key, whatever the planner guesses of the table; a list that is unpacked as rows would not assure that.
      const numbers = yield* this.#numbersOf(account)
      const query = this.#db.query<Stored, [string, number, number, number]>(
        `${select} WHERE r.number = ${anyOf('?1', 'BIGINT')} AND r.account_number = ?2 AND r.seq BETWEEN ?3 AND ?4 ORDER BY r.number`,
      )
      for (let at = 0; at < numbers.length; at += together) {
        yield* query.all(arrayText([...numbers.subarray(at, at + together)]), account, first, last)
        yield undefined
      }
      return
    }
    // All numbers of the table are looked at, although the account may have few of them.
    const query = this.#db.query<Stored, number[]>(
      `${select} WHERE r.number > ?1 AND r.number <= ?2 AND r.account_number = ?3 AND r.seq BETWEEN ?4 AND ?5 ORDER BY r.number`,
    )
    const end = Number(this.#db.query<{ end: bigint | null }, []>('SELECT max(number) AS end FROM receipts').get()?.end ?? 0)
    for (let at = 0; at < end; at += together) {
      yield* query.all(at, at + together, account, first, last)
      yield undefined
    }
  }

  /** Whether the page table has every receipt for certain. On Postgres it is an index of the receipts; in a file it is a table that is filled later and proves nothing. */
  get #arePagesWhole(): boolean {
    return (
      this.#db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'paged'").get()?.value === `${Number.MAX_SAFE_INTEGER}`
    )
  }

  /** The numbers of the account's receipts, in order, eight bytes each. The work depends on how many receipts this account has, however many other accounts have. */
  *#numbersOf(account: number): Generator<undefined, Float64Array> {
    const keys = this.#db
      .query<{ key: bigint }, [number]>('SELECT number AS key FROM keys WHERE account_number = ? ORDER BY number')
      .all(account)
    const query = this.#db.query<{ at: bigint; number: bigint }, [bigint, bigint, bigint]>(
      `SELECT settled_at AS at, receipt_number AS number FROM receipt_pages
       WHERE key_number = ?1 AND (settled_at, receipt_number) > (?2, ?3) ORDER BY settled_at, receipt_number LIMIT ${PLACES_TOGETHER}`,
    )
    const numbers: number[] = []
    for (const [index, { key }] of keys.entries()) {
      let rows = query.all(key, NUMBER_MIN, 0n)
      for (; rows.length === PLACES_TOGETHER; rows = query.all(key, rows.at(-1)?.at ?? 0n, rows.at(-1)?.number ?? 0n)) {
        for (const { number } of rows) numbers.push(Number(number))
        yield undefined
      }
      for (const { number } of rows) numbers.push(Number(number))
      if (index % KEYS_TOGETHER === KEYS_TOGETHER - 1) yield undefined
    }
    return Float64Array.from(numbers).sort()
  }

  /** Credits of the account's lane whose place is `from` or later, in order. */
  *credits(account: number, lane: number, from: number): Generator<ChainRow> {
    const query = this.#db.query<StoredCredit, [number, number, number]>(
      `${CREDITS} WHERE c.account_number = ?1 AND c.lane = ?2 AND c.seq >= ?3 ORDER BY c.seq LIMIT ${TOGETHER}`,
    )
    for (let next = from; ; ) {
      const rows = query.all(account, lane, next)
      for (const row of rows) yield this.#texts.credit(row)
      const end = rows.at(-1)
      if (end === undefined) return
      next = Number(end.seq) + 1
    }
  }
}
