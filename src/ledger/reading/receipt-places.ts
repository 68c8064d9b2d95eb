/** The places of receipts in time, newest first: by key from the page table, by number for receipts without a row in it, and both merged. Rules: ledger.md "Pages". */

import type { Connection } from '../sql/connection.ts'
import { PAGED_TO } from '../sql/paged.ts'
import { numbersIn } from '../sql/sql-list.ts'

/** `settledAt`: Unix milliseconds. Among receipts of the same millisecond, the one that was written later is newer. */
export type ReceiptPlace = Readonly<{ settledAt: number; number: number }>

/** Places from time `from` on, and before the place `before`. */
export type PlaceRange = Readonly<{ from: number; before: ReceiptPlace }>

/** Returns the next places of one source; an empty list only at its end. */
type Source = (count: number) => readonly ReceiptPlace[]

export const LATEST: ReceiptPlace = { settledAt: Number.MAX_SAFE_INTEGER, number: 0 }

const FIRST_CHUNK = 16
const CHUNK_MAX = 4_096

/** Sources of keys from the page table. One statement finds the newest places of all keys: an account may have thousands of keys, and a page has receipts of few. */
export function placesOfKeys(db: Connection, keyNumbers: readonly number[], range: PlaceRange): readonly Source[] {
  const newest = (column: string) => `(SELECT ${column} FROM receipt_pages
     WHERE key_number = k.value AND settled_at >= ?2 AND (settled_at, receipt_number) < (?3, ?4) AND receipt_number <= m.mark
     ORDER BY settled_at DESC, receipt_number DESC LIMIT 1)`
  const heads = db
    .query<PlaceRow & { key: bigint }, [string, number, number, number]>(
      `SELECT * FROM (SELECT k.value AS key, ${newest('settled_at')} AS "settledAt", ${newest('receipt_number')} AS number
         FROM (SELECT ${PAGED_TO} AS mark) m CROSS JOIN (${numbersIn('?1')}) k) h WHERE number IS NOT NULL`,
    )
    .all(JSON.stringify(keyNumbers), range.from, range.before.settledAt, range.before.number)
  return heads.map(({ key, ...head }) => {
    const place = placeOf(head)
    const others = placesOfKey(db, Number(key), { from: range.from, before: place })
    let isFirst = true
    return (count) => {
      if (!isFirst) return others(count)
      isFirst = false
      return [place]
    }
  })
}

function placesOfKey(db: Connection, keyNumber: number, { from, before }: PlaceRange): Source {
  const query = db.query<PlaceRow, [number, number, number, number, number]>(
    `SELECT settled_at AS "settledAt", receipt_number AS number FROM receipt_pages
     WHERE key_number = ?1 AND settled_at >= ?2 AND (settled_at, receipt_number) < (?3, ?4) AND receipt_number <= ${PAGED_TO}
     ORDER BY settled_at DESC, receipt_number DESC LIMIT ?5`,
  )
  let next = before
  return (count) => {
    const places = query.all(keyNumber, from, next.settledAt, next.number, count).map(placeOf)
    next = places.at(-1) ?? next
    return places
  }
}

/** The source of receipts that have no row in the page table yet: a few thousand, unless the storage failed for long. */
export function placesOfTail(db: Connection, keyNumbers: readonly number[], { from, before }: PlaceRange): Source {
  let places: readonly ReceiptPlace[] | undefined
  const read = (): readonly ReceiptPlace[] =>
    db
      .query<PlaceRow, [string, number, number, number]>(
        `SELECT settled_at AS "settledAt", number FROM receipts
         WHERE number > ${PAGED_TO} AND key_number IN (${numbersIn('?1')}) AND settled_at >= ?2 AND (settled_at, number) < (?3, ?4)
         ORDER BY settled_at DESC, number DESC`,
      )
      .all(JSON.stringify(keyNumbers), from, before.settledAt, before.number)
      .map(placeOf)
  return (count) => {
    places ??= read()
    const taken = places.slice(0, count)
    places = places.slice(count)
    return taken
  }
}

type Head = { place: ReceiptPlace; chunk: readonly ReceiptPlace[]; at: number; size: number; readonly source: Source }

/** Any number of sources as one, newest first. */
export class PlaceMerge {
  /** Sorted by place, the newest last, because the last one is taken. */
  readonly #heads: Head[] = []

  constructor(sources: readonly Source[]) {
    for (const source of sources) this.#enter({ place: LATEST, chunk: [], at: 0, size: FIRST_CHUNK, source })
  }

  get isEmpty(): boolean {
    return this.#heads.length === 0
  }

  take(count: number): readonly ReceiptPlace[] {
    const taken: ReceiptPlace[] = []
    while (taken.length < count) {
      const head = this.#heads.pop()
      if (head === undefined) break
      taken.push(head.place)
      this.#enter(head)
    }
    return taken
  }

  /** Puts a source back with its next place, or drops it at its end. */
  #enter(head: Head): void {
    if (head.at === head.chunk.length) {
      head.chunk = head.source(head.size)
      head.at = 0
      head.size = Math.min(head.size * 4, CHUNK_MAX)
    }
    const place = head.chunk[head.at++]
    if (place === undefined) return
    head.place = place
    let [low, high] = [0, this.#heads.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#heads[middle]
      if (other !== undefined && isBefore(other.place, place)) low = middle + 1
      else high = middle
    }
    this.#heads.splice(low, 0, head)
  }
}

export const isBefore = (a: ReceiptPlace, b: ReceiptPlace): boolean =>
  a.settledAt < b.settledAt || (a.settledAt === b.settledAt && a.number < b.number)

type PlaceRow = { settledAt: bigint; number: bigint }
const placeOf = ({ settledAt, number }: PlaceRow): ReceiptPlace => ({ settledAt: Number(settledAt), number: Number(number) })
