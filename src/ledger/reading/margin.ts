/** Puts together what was charged and what it cost us: one row for each day, account, model or upstream, or for each of their combinations. Rules: money.md "Margin". */

import { type Picos, picos, ZERO } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import type { MarginQuery, MarginRow, MarginSums } from './margin-reads.ts'
import type { Reports, Unread } from './reports.ts'

export const MARGIN_BY = ['day', 'account', 'model', 'upstream'] as const
export type MarginBy = (typeof MARGIN_BY)[number]

/** `name`: only of an account. */
export type MarginOf = MarginSums & Readonly<{ id: string; name: string }>

const NOTHING: MarginSums = {
  requests: 0,
  calls: 0,
  chargedPicos: ZERO,
  waivedPicos: ZERO,
  receiptsCostPicos: ZERO,
  callsCostPicos: ZERO,
  cacheLostPicos: ZERO,
}

/** What all of it cost us. */
export const upstreamCostIn = ({ receiptsCostPicos, callsCostPicos }: MarginSums): Picos => picos(receiptsCostPicos + callsCostPicos)
export const marginIn = (sums: MarginSums): Picos => picos(sums.chargedPicos - upstreamCostIn(sums))

export const sumMargin = (rows: readonly MarginSums[]): MarginSums =>
  rows.reduce(
    (a, b) => ({
      requests: a.requests + b.requests,
      calls: a.calls + b.calls,
      chargedPicos: picos(a.chargedPicos + b.chargedPicos),
      waivedPicos: picos(a.waivedPicos + b.waivedPicos),
      receiptsCostPicos: picos(a.receiptsCostPicos + b.receiptsCostPicos),
      callsCostPicos: picos(a.callsCostPicos + b.callsCostPicos),
      cacheLostPicos: picos(a.cacheLostPicos + b.cacheLostPicos),
    }),
    NOTHING,
  )

const THING: Readonly<Record<MarginBy, (row: MarginRow) => Readonly<{ id: string; name: string }>>> = {
  day: ({ day }) => ({ id: dayText(day), name: '' }),
  account: ({ accountId, accountName }) => ({ id: accountId, name: accountName }),
  model: ({ modelId }) => ({ id: modelId, name: '' }),
  upstream: ({ upstream }) => ({ id: upstream, name: '' }),
}

/** Days newest first, all others by what they were charged, the most first. */
export function groupMargin(rows: readonly MarginRow[], by: MarginBy): readonly MarginOf[] {
  const groups = [...Map.groupBy(rows, (row) => THING[by](row).id)].map(([id, of]) => {
    const [first] = of
    return { id, name: first === undefined ? '' : THING[by](first).name, ...sumMargin(of) }
  })
  return groups.sort((a, b) => (by === 'day' ? (a.id < b.id ? 1 : -1) : Number(b.chargedPicos - a.chargedPicos) || (a.id < b.id ? -1 : 1)))
}

/** Asks for all parts, each in the client's turn. */
export async function wholeMargin(
  reports: Reports,
  client: string,
  query: Omit<MarginQuery, 'after'>,
): Promise<readonly MarginRow[] | Unread> {
  const rows: MarginRow[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const part = await reports.ask<'margin'>(client, { kind: 'margin', ...query, ...(after === undefined ? {} : { after }) })
    if (part === undefined) return rows
    if (typeof part !== 'object') return part
    rows.push(...part.rows)
    after = part.next
  }
  return rows
}
