/** A page of a list, and where the next one goes on: after the place of the last row, never after a count of rows. Rules: operator.md "Lists"; ledger.md "Pages". */

/** `after`: the `next` of the page before; `limit`: 1 or more. */
export type Paging = Readonly<{ after: string | undefined; limit: number }>

/** `next`: where the next page goes on; null after the last one. A filtered page may hold fewer rows than asked for, even none, and still have a next one. */
export type Page<Row> = Readonly<{ rows: readonly Row[]; next: string | null }>

/** The most rows that a page looks at. A page that has found few of them stops there, and its reader goes on with the next page. */
export const LOOKED_AT_MAX = 10_000

/** One row more than asked for tells whether there is another page. */
export function pageOf<Row>(rows: readonly Row[], limit: number, placeOf: (row: Row) => string): Page<Row> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length <= limit || last === undefined ? null : placeOf(last) }
}
