/**
 * Work that is put off after settles: adds receipts to the sums by hour, a batch at a time in the order of their numbers. A mark says up to which number that is done, in the
 * same commit, so a crash neither loses a receipt nor counts one twice. Rules: ledger.md "Hours".
 */

import type { Connection } from './connection.ts'

/** The number of the last receipt that is in the sums by hour; the writer that fills them and their readers use the same expression. */
export const SUMMED_TO = "(SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'summed')"

/** The tag, which no client can send, of what has none. */
export const NO_TAG = '(none)'

/** The hour of a receipt `r`, which is one of its day, so that hours add up to days. */
export const HOUR = 'CASE WHEN r.day = r.settled_at / 86400000 THEN r.settled_at / 3600000 ELSE r.started_at / 3600000 END'
/** What tells the sums apart, out of a receipt `r`. */
const PLACE = [
  'r.key_number',
  HOUR,
  'r.price_number',
  'coalesce(r.upstream_number, 0)',
  'r.format',
  'r.outcome',
  `CASE WHEN r.tag IS NULL THEN '${NO_TAG}' WHEN EXISTS (SELECT 1 FROM usage_tags t WHERE t.key_number = r.key_number AND t.day = r.day AND t.tag = r.tag) THEN r.tag ELSE '' END`,
]
const PLACE_COLUMNS = ['key_number', 'hour', 'price_number', 'upstream_number', 'format', 'outcome', 'tag']

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
  'cost_picos',
  'waived_picos',
]
/** Each sum, out of receipts `r`. */
const SUMS: Readonly<Record<string, string>> = {
  requests: 'count(*)',
  ...Object.fromEntries(COUNTS.map((name) => [name, `sum(r.${name})`])),
  estimated_picos: "sum(CASE WHEN r.basis = 'estimated' THEN r.cost_picos ELSE 0 END)",
  upstream_cost_picos: 'sum(coalesce(r.upstream_cost_picos, 0))',
  costed: 'count(r.upstream_cost_picos)',
}

/** A select of receipts `r` as rows of `spend_hours`. `where`: which ones. */
export const hoursOfReceipts = (where: string): string =>
  `SELECT ${PLACE.map((of, index) => `${of} AS ${PLACE_COLUMNS[index]}`).join(', ')},
    ${Object.entries(SUMS)
      .map(([name, of]) => `CAST(${of} AS BIGINT) AS ${name}`)
      .join(', ')}
  FROM receipts r WHERE ${where} GROUP BY 1, 2, 3, 4, 5, 6, 7`

const FILL = `INSERT INTO spend_hours AS s (${[...PLACE_COLUMNS, ...Object.keys(SUMS)].join(', ')})
  ${hoursOfReceipts('r.number > $from AND r.number <= $to')} ORDER BY 1, 2, 3, 4, 5, 6, 7
  ON CONFLICT (${PLACE_COLUMNS.join(', ')}) DO UPDATE SET ${Object.keys(SUMS)
    .map((name) => `${name} = s.${name} + excluded.${name}`)
    .join(', ')}`

/** Receipts in a batch, which delays the next commit by some milliseconds. */
export const HOURS_BATCH = 1_024

/** Undefined: it is gone, and what the sums by hour have is not known. */
export function markIn(db: Connection): number | undefined {
  const mark = db.query<{ mark: bigint | null }, []>(`SELECT ${SUMMED_TO} AS mark`).get()?.mark
  return mark === null || mark === undefined ? undefined : Number(mark)
}

export class HourSums {
  readonly #db: Connection
  readonly #batch: number
  #waiting = 0

  constructor(db: Connection, batch = HOURS_BATCH) {
    this.#db = db
    this.#batch = batch
    this.look()
  }

  /** To be called with the number of receipts that were committed. */
  noteReceipts(count: number): void {
    this.#waiting += count
  }

  /** Whether there is a whole batch to do, as far as this process knows. */
  get isDue(): boolean {
    return this.#waiting >= this.#batch
  }

  /** Does one batch inside the caller's transaction, which alone moves the mark. `end`: the number up to which no receipt can appear any more. False: there was none to do. */
  advance(end: number): boolean {
    const from = this.requireMark()
    const to = Math.min(from + this.#batch, end)
    if (to <= from) return false
    this.#db.query<unknown, [{ from: number; to: number }]>(FILL).run({ from, to })
    this.#db.query<unknown, [string]>("UPDATE meta SET value = ? WHERE name = 'summed'").run(String(to))
    return true
  }

  /** The mark. Throws where it is gone: from the first receipt on, each would be added to sums that may have it already. */
  requireMark(): number {
    const mark = markIn(this.#db)
    if (mark === undefined) throw new Error("the mark 'summed' of the sums by hour is gone from the ledger's table meta")
    return mark
  }

  /** Looks how many receipts wait; to be called behind a batch in its transaction, so that a storage that fails is the transaction's. Where that is undone, they wait for more to come. */
  look(): void {
    const left = `SELECT (SELECT coalesce(max(number), 0) FROM receipts) - ${SUMMED_TO} AS left`
    this.#waiting = Number(this.#db.query<{ left: bigint }, []>(left).get()?.left ?? 0)
  }
}
