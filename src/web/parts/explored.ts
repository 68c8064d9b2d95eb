/** The gateway's answer to a question of Explore, and what its groups are called. Rules: pages.md "Explore". */

import type { Thing } from './explore-titles.ts'
import type { ThingName } from './explore-view.ts'

type Usage = Readonly<Record<'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens', number>>
export type Sums = Readonly<{
  requests: number
  usage: Usage
  cache_hit_thousandths: number | null
  cost_usd: string
  waived_usd: string
  upstream_cost_usd?: string | undefined
  /** The requests whose upstream cost is known; for operators. */
  costed_requests?: number | undefined
}>
export type Row = Sums & Readonly<{ things: readonly Thing[] }>
export type Explored = Readonly<{
  /** What the rows are of: while the answer to a new question is awaited, still those of the last. */
  by: readonly ThingName[]
  step: string
  measure: string
  places: readonly string[]
  /** `things`: null for all others. */
  series: readonly Readonly<{ things: readonly Thing[] | null; values: readonly (string | null)[] }>[]
  data: readonly Row[]
  others: (Sums & Readonly<{ count: number }>) | null
  total: Sums
}>

export type TitleOf = (thing: ThingName, id: string) => string
export const titleOfAll = (titleOf: TitleOf, by: readonly ThingName[], things: readonly Thing[]): string =>
  things.map(({ id }, at) => titleOf(by[at] ?? 'model', id)).join(', ')

/** Of one thing its id, by which it has the same colour on every page. */
export const idOf = (things: readonly Thing[]): string =>
  (things.length === 1 ? things[0]?.id : undefined) ?? JSON.stringify(things.map(({ id }) => id))

export const percent = (thousandths: number | null): string => (thousandths === null ? '–' : `${(thousandths / 10).toFixed(1)} %`)

/** Rates of the steps as they are, since no sum of rates is one; a gap where there is none. */
export const ratesOf = (values: readonly (string | null)[]): readonly (number | null)[] =>
  values.map((value) => (value === null ? null : Number(value)))
