/** A table that scrolls inside itself, with keyset pages: older and newer, and never more rows in the page than one page has. */

import type { ComponentChildren } from 'preact'

export type Column<Row> = Readonly<{
  name: string
  /** Whether the column shows figures: aligned to the right, with digits of one width. */
  isFigure?: boolean
  /** Whether only screen readers get the column's name, such as that of the buttons. */
  isQuiet?: boolean
  /** Whether a phone leaves the column out, since another column says the same there. */
  isWide?: boolean
  cell: (row: Row) => ComponentChildren
}>

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  foot,
}: Readonly<{
  /** What the table shows, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** The row of sums, with a cell for each column. */
  foot?: readonly ComponentChildren[]
}>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class="rows">
        <thead>
          <tr>
            {columns.map(({ name, isQuiet, ...column }) => (
              <th key={name} scope="col" class={classOf(column)}>
                {isQuiet ? <span class="unseen">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, ...column }) => (
                <td key={name} class={classOf(column)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {foot !== undefined && (
          <tfoot>
            <tr>
              {columns.map(({ name, ...column }, index) => (
                <td key={name} class={classOf(column)}>
                  {foot[index]}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  )
}

const classOf = ({ isFigure, isWide }: Pick<Column<never>, 'isFigure' | 'isWide'>): string | undefined =>
  [isFigure ? 'figure' : '', isWide ? 'off-phone' : ''].join(' ').trim() || undefined

/** The buttons for older and newer pages. `isShort`: a filter left fewer rows than a page has, and older rows are not searched yet. */
export const Pager = ({
  hasNewer,
  next,
  older,
  newer,
  isShort = false,
}: Readonly<{ hasNewer: boolean; next: string | null; older: (cursor: string) => void; newer: () => void; isShort?: boolean }>) =>
  !hasNewer && next === null ? null : (
    <nav class="pager" aria-label="Pages">
      {isShort && next !== null && <p class="quiet">Older rows are left to look through.</p>}
      <button type="button" disabled={!hasNewer} onClick={newer}>
        Newer
      </button>
      <button type="button" disabled={next === null} onClick={() => next !== null && older(next)}>
        Older
      </button>
    </nav>
  )
