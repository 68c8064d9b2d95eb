/** Filters of several values as an address has them, with commas between, and the mistakes in them, named by field. Rules: pages.md "Tables", "Errors". */

import { t } from 'elysia'
import { ONLY_MAX } from '../../core/explore.ts'
import { FORMAT_NAMES, type FormatName } from '../../core/format.ts'
import { OUTCOMES, type Outcome } from '../../core/outcome.ts'
import type { ReceiptFilter } from '../../ledger/reading/receipt-filter.ts'
import { refuse } from './answers.ts'
import { listOf } from './explore-query.ts'

/** `what`: such as "keys". */
export const values = (what: string) =>
  t.Optional(t.String({ maxLength: 5_000, description: `Only of these ${what}, with commas between, ${ONLY_MAX} at most` }))

/** The filters of requests that are lists. */
export const REQUEST_LISTS = { model: values('models'), outcome: values('outcomes'), format: values('formats') }

const KNOWN: Readonly<Record<string, readonly string[]>> = { outcome: OUTCOMES, format: FORMAT_NAMES }

/** The values of each name that has any, each once. */
export function valuesIn<Name extends string>(
  query: Readonly<Partial<Record<Name, string | undefined>>>,
  names: readonly Name[],
): Readonly<Partial<Record<Name, readonly string[]>>> | Response {
  const lists = names.map((name) => [name, [...new Set(listOf(query[name] ?? ''))]] as const).filter(([, list]) => list.length > 0)
  for (const [field, list] of lists) {
    if (list.length > ONLY_MAX) return refuse(400, `At most ${ONLY_MAX} at once`, { field })
    const known = KNOWN[field]
    if (known !== undefined && !list.every((value) => known.includes(value))) return refuse(400, `Of ${known.join(', ')}`, { field })
  }
  return Object.fromEntries(lists) as Readonly<Partial<Record<Name, readonly string[]>>>
}

type Lists = Readonly<Partial<Record<'model' | 'outcome' | 'upstream' | 'format', readonly string[]>>>

/** The filter of lists that `valuesIn` has looked through. */
export const receiptFilterOf = ({ model, outcome, upstream, format }: Lists): ReceiptFilter => ({
  modelIds: model,
  outcomes: outcome as readonly Outcome[] | undefined,
  upstreams: upstream,
  formats: format as readonly FormatName[] | undefined,
})
