/** A column of a table: what it shows of a row, by what rows are ordered by it, and whether the reader wants to see it. Rules: pages.md "Tables", "Amounts". */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { compareUsd, placesOfAll } from './show-usd.ts'

export type Column<Row> = Readonly<{
  name: string
  /** Whether the column shows figures: aligned to the right, with digits of one width. */
  isFigure?: boolean
  /** Whether only screen readers get the column's name, such as that of a row's menu; the column is as narrow as it may be, at the end of the row. */
  isQuiet?: boolean
  /** Whether a phone leaves the column out, since another column says the same there. */
  isWide?: boolean
  /** Where it stands on a phone's card: among the two that matter first, in the corner beside the title, or in a line of its own, since its texts are long. */
  onCard?: 'first' | 'corner' | 'line'
  /** An exact amount: all amounts of the column have the same number of places. Null: there is none. */
  usd?: (row: Row) => string | null
  /** What is shown; by default the amount. `places`: those of the column's amounts. */
  cell?: (row: Row, places: number) => ComponentChildren
  /** The gateway's word for the order by this column. */
  order?: string
  /** By what a page orders rows of which it has all; amounts need none. Null: the row has nothing there, and stands below the others whichever way they are ordered. */
  by?: (row: Row) => string | number | null
}>

/** An order: the word of a column, behind a minus where it falls; '' is the list's own order. `onlyFalls`: the gateway knows no rising one. */
export type Order = Readonly<{ value: string; set: (value: string) => void; onlyFalls?: boolean }>

/** The order after a click: figures fall first, texts rise; then the other way; then the list's own order. */
export function nextOrder(word: string, isFigure: boolean, { value: now, onlyFalls = false }: Order): string {
  if (onlyFalls) return now === `-${word}` ? '' : `-${word}`
  const [first, second] = isFigure ? [`-${word}`, word] : [word, `-${word}`]
  return now === first ? second : now === second ? '' : first
}

export const isFigure = <Row>(column: Column<Row>): boolean => column.isFigure === true || column.usd !== undefined

/** The decimal places of a column's amounts, those in the foot too. */
export const placesOf = <Row>({ usd }: Column<Row>, rows: readonly Row[], foot: ComponentChildren): number =>
  usd === undefined
    ? 2
    : placesOfAll([...rows.map(usd), foot].filter((exact): exact is string => typeof exact === 'string' && exact !== ''))

/** The rows in an order of the page's own. Rows that are equal stay as they came; `isLast`: rows that stand below all others. */
export function inOrder<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  order: string,
  isLast: (row: Row) => boolean = () => false,
): readonly Row[] {
  const column = columns.find(({ name }) => name === order.replace(/^-/, ''))
  if (column === undefined) return rows
  const way = order.startsWith('-') ? -1 : 1
  const isBelow = (row: Row): boolean => isLast(row) || column.by?.(row) === null
  return rows.toSorted((a, b) => Number(isBelow(a)) - Number(isBelow(b)) || way * compared(column, a, b))
}

function compared<Row>({ by, usd }: Column<Row>, a: Row, b: Row): number {
  if (by === undefined) return compareUsd(usd?.(a) ?? '0', usd?.(b) ?? '0')
  const [one, other] = [by(a), by(b)]
  if (one === null || other === null) return 0
  return typeof one === 'string' ? one.localeCompare(String(other)) : one - Number(other)
}

/** The names of columns that the reader does not want to see, which the browser remembers. `kept`: the name under which it does. */
export function useHidden(kept: string | undefined): readonly [readonly string[], (hidden: readonly string[]) => void] {
  const place = `tollgate.columns.${kept}`
  const [hidden, setHidden] = useState<readonly string[]>(() => (kept === undefined ? [] : read(place)))
  const change = (names: readonly string[]): void => {
    setHidden(names)
    try {
      localStorage.setItem(place, JSON.stringify(names))
    } catch {
      // In a browser that stores nothing the choice lasts until the page is left.
    }
  }
  return [hidden, change]
}

function read(place: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(place) ?? '[]')
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
