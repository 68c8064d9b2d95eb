/** How the commands write: tables without colour or frames, and amounts and times in the units of the edge. Rules: money.md "Unit"; operator.md "Commands". */

import { type Picos, toUsdText } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'

export const usdText = (amount: Picos | null): string => (amount === null ? 'none' : `$${toUsdText(amount)}`.replace('$-', '-$'))
export const timeText = (milliseconds: number | null): string => isoOrNull(milliseconds) ?? 'never'

/** A table with the columns that `head` names; the text `empty` when there is no row. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length === 0) return empty
  const lines = [head, ...rows]
  const widths = head.map((_, column) => lines.reduce((widest, line) => Math.max(widest, Bun.stringWidth(line[column] ?? '')), 0))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat(gapAfter(cell, widths[column])))
        .join('')
        .trimEnd(),
    )
    .join('\n')
}

const gapAfter = (cell: string, width = 0): number => width - Bun.stringWidth(cell) + 2

/** One thing as text, with a line for each fact. */
export const factsText = (facts: readonly (readonly [name: string, value: string])[]): string => {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}
