/** The history as the page asks for it: a span that ends now, or one with its own edges, both of which stand in the page's address. Rules: pages.md "History". */

import type { Got } from '../parts/ask.ts'
import { api } from './api.ts'

export type History = Got<typeof api.history.get>
export type Line = History['all']

export const SPANS = [
  { span: 'hour', text: 'Last hour' },
  { span: 'day', text: '24 hours' },
  { span: 'week', text: '7 days' },
  { span: 'month', text: '30 days' },
] as const
type Span = (typeof SPANS)[number]['span']
type By = 'model' | 'upstream'

/** By what spend is told apart. */
export const SPENT_BY = ['model', 'account', 'key'] as const
type SpentBy = (typeof SPENT_BY)[number]

/** `from`, `to`: moments in ISO 8601, which win over `span`. */
export type HistoryView = Readonly<{ span: Span; by: By; spent: SpentBy; from?: string | undefined; to?: string | undefined }>

/** The view in an address; what is none is the default. */
export function viewOf({ span, by, spent, from, to }: Readonly<Record<string, string | undefined>>): HistoryView {
  const known = SPANS.find((one) => one.span === span)?.span ?? 'hour'
  const isSpan = from !== undefined && to !== undefined && Date.parse(from) < Date.parse(to)
  return {
    span: known,
    by: by === 'model' ? 'model' : 'upstream',
    spent: SPENT_BY.find((one) => one === spent) ?? 'model',
    ...(isSpan ? { from, to } : {}),
  }
}

const spanOf = ({ span, from, to }: HistoryView) => ({ span, ...(from === undefined || to === undefined ? {} : { from, to }) })
export const askHistory = (view: HistoryView) => api.history.get({ query: { ...spanOf(view), by: view.by } })
export const askSpent = (view: HistoryView) => api.spent.get({ query: { ...spanOf(view), by: view.spent } })
export type Spent = Got<typeof api.spent.get>

/** What ended is in the history within so long. */
export const BEHIND_MS = 10_000

/** How often a span that ends now is asked for anew: its last part grows. One in which nothing ended yet is soon out of date, whatever its parts are. */
export const againMs = ({ part_s, lines }: Pick<History, 'part_s' | 'lines'>): number =>
  lines.length === 0 ? BEHIND_MS : Math.max(BEHIND_MS, Math.min(part_s * 1_000, 300_000))

/** The middle time of the parts in which there were any, by their requests: good enough to compare, and named so. */
export function typicalMs({ first_byte }: Line): number | null {
  const all = first_byte.flatMap(({ p50_ms }) => (p50_ms === null ? [] : [p50_ms])).toSorted((a, b) => a - b)
  return all[Math.floor(all.length / 2)] ?? null
}
