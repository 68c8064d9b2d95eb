/**
 * A table: ordered by a click on a column's name, with the columns that its reader chose, as cards on a phone; and keyset pages, older and newer, with never more
 * rows in the page than one page has. Rules: pages.md "Tables".
 */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Column, inOrder, isFigure, nextOrder, type Order, placesOf, useHidden } from './columns.ts'
import { TableTools } from './table-tools.tsx'
import { Usd } from './usd.tsx'

/** A table of so few columns is one on a phone, too, where none says how it stands on a card. */
const NARROW_COLUMNS = 3

type Options<Row> = Readonly<{
  /** What the table shows, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The row of sums, with a cell for each column; in a column of amounts it is an exact amount. */
  foot?: readonly ComponentChildren[]
  /** The order in which the gateway gives the rows. */
  order?: Order
  /** The page has all rows and orders them itself. `isLast`: rows that stand below all others. */
  isAll?: boolean
  isLast?: (row: Row) => boolean
  /** The name under which the browser remembers which columns are shown. */
  kept?: string
}>

export function Table<Row>({ label, columns, rows, keyOf, foot = [], order, isAll = false, isLast, kept }: Options<Row>) {
  const [own, setOwn] = useState('')
  const [hidden, hide] = useHidden(kept)
  const shown = columns.filter(({ name }, index) => index === 0 || !hidden.includes(name))
  const sorting = order ?? (isAll ? { value: own, set: setOwn } : undefined)
  const wordOf = (column: Column<Row>) =>
    order === undefined ? ((column.by ?? column.usd) === undefined ? undefined : column.name) : column.order
  const sorted = isAll ? inOrder(rows, columns, own, isLast) : rows
  const places = new Map(shown.map((column) => [column.name, placesOf(column, rows, foot[columns.indexOf(column)])]))
  const isCards = shown.filter(({ isWide }) => !isWide).length > NARROW_COLUMNS || shown.some(({ onCard }) => onCard !== undefined)
  return (
    <div class="table">
      <TableTools
        label={label}
        orders={sorting === undefined || !isCards ? [] : shown.flatMap((column) => ordersOf(column.name, wordOf(column), sorting))}
        order={sorting}
        columns={kept === undefined ? [] : columns.slice(1).flatMap(({ name, isQuiet }) => (isQuiet ? [] : [name]))}
        hidden={hidden}
        hide={hide}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <table class={isCards ? 'rows as-cards' : 'rows'}>
          <thead>
            <tr>
              {shown.map((column) => (
                <Heading key={column.name} column={column} word={wordOf(column)} order={sorting} />
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.map((row) => (
              <tr key={keyOf(row)}>
                {shown.map((column) => (
                  <td key={column.name} class={classOf(column)} data-name={nameOf(column)}>
                    {cellOf(column, row, places.get(column.name) ?? 2)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
          {foot.length > 0 && (
            <tfoot>
              <tr>
                {shown.map((column) => (
                  <td key={column.name} class={classOf(column)} data-name={nameOf(column)}>
                    {footCell(column, foot[columns.indexOf(column)], places.get(column.name) ?? 2)}
                  </td>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      </section>
    </div>
  )
}

function Heading<Row>({ column, word, order }: Readonly<{ column: Column<Row>; word: string | undefined; order: Order | undefined }>) {
  const { name, isQuiet } = column
  if (word === undefined || order === undefined)
    return (
      <th scope="col" class={classOf(column)}>
        {isQuiet ? <span class="unseen">{name}</span> : name}
      </th>
    )
  const sort = order.value === word ? 'ascending' : order.value === `-${word}` ? 'descending' : 'none'
  return (
    <th scope="col" class={classOf(column)} aria-sort={sort}>
      <button type="button" class="as-head" onClick={() => order.set(nextOrder(word, isFigure(column), order))}>
        {name}
      </button>
    </th>
  )
}

const ordersOf = (name: string, word: string | undefined, order: Order) =>
  word === undefined
    ? []
    : [{ value: `-${word}`, text: `${name}, falling` }, ...(order.onlyFalls ? [] : [{ value: word, text: `${name}, rising` }])]

function cellOf<Row>({ usd, cell }: Column<Row>, row: Row, places: number): ComponentChildren {
  if (cell !== undefined) return cell(row, places)
  const exact = usd?.(row) ?? null
  return exact === null ? <span class="quiet">none</span> : <Usd exact={exact} places={places} />
}

const footCell = <Row,>({ usd }: Column<Row>, foot: ComponentChildren, places: number): ComponentChildren =>
  usd !== undefined && typeof foot === 'string' && foot !== '' ? <Usd exact={foot} places={places} /> : foot

/** The name that stands beside the value on a card. */
const nameOf = <Row,>({ name, isQuiet }: Column<Row>): string => (isQuiet ? '' : name)

const classOf = <Row,>(column: Column<Row>): string | undefined =>
  [
    isFigure(column) ? 'figure' : '',
    column.isQuiet ? 'end' : '',
    column.isWide ? 'off-phone' : '',
    column.onCard === undefined ? '' : `card-${column.onCard}`,
  ]
    .filter((one) => one !== '')
    .join(' ') || undefined

/** The buttons for older and newer pages. `isShort`: a filter left fewer rows than a page has, and older rows are not searched yet. `isOrdered`: pages follow an order that is not time. */
export const Pager = ({
  hasNewer,
  next,
  older,
  newer,
  isShort = false,
  isOrdered = false,
}: Readonly<{
  hasNewer: boolean
  next: string | null
  older: (cursor: string) => void
  newer: () => void
  isShort?: boolean
  isOrdered?: boolean
}>) =>
  !hasNewer && next === null ? null : (
    <nav class="pager" aria-label="Pages">
      {isShort && next !== null && <p class="quiet">Older rows are left to look through.</p>}
      <button type="button" disabled={!hasNewer} onClick={newer}>
        {isOrdered ? 'Back' : 'Newer'}
      </button>
      <button type="button" disabled={next === null} onClick={() => next !== null && older(next)}>
        {isOrdered ? 'More' : 'Older'}
      </button>
    </nav>
  )
