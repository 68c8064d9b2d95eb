/**
 * The spend of one day by hour, from its receipts: first those that have their row in the page table, by key and time, then those that have none yet. The cursor keeps
 * where the table ended when the first part was read, so that no receipt is missed or counted twice while the table grows. Rules: ledger.md "Pages", "Reads".
 */

import { DAY_MS } from '../../core/utc.ts'
import type { Connection } from '../sql/connection.ts'
import { PAGED_TO } from '../sql/paged.ts'
import type { SpendHoursQuestion, SpendPart } from './account-reports.ts'
import type { Walk } from './spend-reads.ts'
import { BY, named, rowOf, type SumRow, sumAs, TOKENS_AND_MONEY } from './spend-rows.ts'

/** How many receipts a part looks at, which takes a few milliseconds. */
const LOOKED_AT_MAX = 5_000
/** A cursor is `p`, the end of the page table at the first part, and the place of a row of it; or `t`, the same end, and the number of a receipt. */
const PAGED = /^p:(\d{1,16}):(\d{1,15}):(\d{1,15}):(\d{1,15})$/
const TAIL = /^t:(\d{1,16}):(\d{1,16})$/

const PAGES = `FROM keys k CROSS JOIN receipt_pages g
  WHERE g.key_number = k.number AND k.account_number = $account AND k.number >= $key
    AND (CAST($onlyKey AS BIGINT) IS NULL OR k.number = $onlyKey) AND g.settled_at BETWEEN $from AND $to AND g.receipt_number <= $mark AND (k.number, g.settled_at, g.receipt_number) > ($key, $at, $number)
  ORDER BY k.number, g.settled_at, g.receipt_number`
const LAST_PAGED = `SELECT k.number || ':' || g.settled_at || ':' || g.receipt_number AS place ${PAGES} LIMIT 1 OFFSET $looked - 1`
const OF_PAGES = `(SELECT g.receipt_number AS page_number ${PAGES} LIMIT $looked) g JOIN receipts r ON r.number = g.page_number`

const ROWS_OF_TAIL = 'FROM receipts WHERE number > $number ORDER BY number'
const LAST_OF_TAIL = `SELECT number AS place ${ROWS_OF_TAIL} LIMIT 1 OFFSET $looked - 1`
const OF_TAIL = `(SELECT * ${ROWS_OF_TAIL} LIMIT $looked) r`

const sumsOf = (
  from: string,
  group: string,
  tag: string,
): string => `SELECT r.day, r.settled_at % ${DAY_MS} / 3600000 AS hour, min(r.key_number) AS key_number, r.price_number, ${tag} AS tag,
    count(*) AS requests, ${TOKENS_AND_MONEY}, ${sumAs("CASE WHEN basis = 'estimated' THEN cost_picos ELSE 0 END", 'estimated')}
  FROM ${from} JOIN price_versions v ON v.number = r.price_number
  WHERE r.account_number = $account AND r.day = $day AND r.settled_at BETWEEN $from AND $to
    AND (CAST($onlyKey AS BIGINT) IS NULL OR r.key_number = $onlyKey)
    AND (CAST($onlyModel AS BIGINT) IS NULL OR v.model_number = $onlyModel) AND (CAST($onlyTag AS TEXT) IS NULL OR r.tag = $onlyTag)
  GROUP BY r.day, r.settled_at % ${DAY_MS} / 3600000, ${group}`

type Given = Record<string, number | string | null>

export class SpendHours {
  readonly #db: Connection

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection) {
    this.#db = db
  }

  /** One read transaction. Undefined: `after` is no place. */
  part(question: SpendHoursQuestion, walk: Walk): SpendPart | undefined {
    return this.#db.transaction(() => {
      const { after = `p:${this.#mark()}:0:0:0` } = question
      const tail = TAIL.exec(after)
      if (tail !== null) return this.#tail(question, walk, after, Number(tail[2]))
      const paged = PAGED.exec(after)
      return paged === null ? undefined : this.#pages(question, walk, paged.slice(1).map(Number))
    })()
  }

  #pages(
    { day, by }: SpendHoursQuestion,
    { onlyModel, onlyTag, ...walk }: Walk,
    [mark = 0, key = 0, at = 0, number = 0]: number[],
  ): SpendPart {
    const given = { ...walk, ...spanOf(day), key, at, number, mark, looked: LOOKED_AT_MAX }
    const last = this.#db.query<{ place: string }, [Given]>(LAST_PAGED).get(given)?.place
    return {
      rows: this.#sums(OF_PAGES, by, { ...given, onlyModel, onlyTag, day }),
      next: last === undefined ? `t:${mark}:${mark}` : `p:${mark}:${last}`,
    }
  }

  #tail({ day, by }: SpendHoursQuestion, walk: Walk, after: string, number: number): SpendPart {
    const given = { number, looked: LOOKED_AT_MAX }
    const last = this.#db.query<{ place: bigint }, [Given]>(LAST_OF_TAIL).get(given)?.place
    const next = last === undefined ? null : `${after.slice(0, after.lastIndexOf(':'))}:${last}`
    return { rows: this.#sums(OF_TAIL, by, { ...walk, ...spanOf(day), ...given, day }), next }
  }

  #sums(from: string, by: keyof typeof BY, given: Given) {
    return this.#db
      .query<SumRow, [Given]>(
        named(sumsOf(from, `r.${BY[by].group.replace(', ', ', r.')}`, by === 'tag' ? 'r.tag' : 'CAST(NULL AS TEXT)'), BY[by]),
      )
      .all(given)
      .map(rowOf)
  }

  #mark(): number {
    return Number(this.#db.query<{ mark: bigint }, []>(`SELECT ${PAGED_TO} AS mark`).get()?.mark ?? 0)
  }
}

const spanOf = (day: number) => ({ from: day * DAY_MS, to: (day + 1) * DAY_MS - 1 })
