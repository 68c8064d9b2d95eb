/** How the commands write: tables without colour or frames, and amounts and times in the units of the edge. Rules: money.md "Unit"; operator.md "Commands". */

import Table from 'cli-table3'
import { type Picos, toUsdText } from '../core/money.ts'
import { isoOrNull } from '../core/utc.ts'

export const usdText = (amount: Picos | null): string => (amount === null ? 'none' : `$${toUsdText(amount)}`.replace('$-', '-$'))
export const timeText = (milliseconds: number | null): string => isoOrNull(milliseconds) ?? 'never'

/** Columns named in `head`; `empty` when there is no row. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[], empty: string): string {
  if (rows.length === 0) return empty
  const table = new Table({ head: [...head], chars: NO_FRAME, style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 } })
  for (const row of rows) table.push([...row])
  return trimLines(table.toString())
}

/** One thing, a line a fact. */
export const factsText = (facts: readonly (readonly [name: string, value: string])[]): string => {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

const trimLines = (text: string): string => text.replace(/[ \t]+$/gm, '')

const NO_FRAME = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left', 'left-mid', 'mid', 'mid-mid']
    .concat(['right', 'right-mid', 'middle'])
    .map((place) => [place, '']),
)
