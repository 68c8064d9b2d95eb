/** Puts together the parts of what was used: a row for each step and its things, and the sums of each thing over all steps. Rules: pages.md "Explore"; ledger.md "Hours". */

import { stepAt } from '../../core/explore.ts'
import { picos, ZERO } from '../../core/money.ts'
import { addUsage, NO_USAGE } from '../../core/usage.ts'
import type { ExplorePart, ExploreQuery, ExploreRow, ExploreSums } from './explore-reads.ts'
import type { Reports, Unread } from './reports.ts'

/** More rows than a page, a file or a spreadsheet is good for. */
const ROWS_MAX = 50_000

const NOTHING_USED: ExploreSums = {
  requests: 0,
  usage: NO_USAGE,
  costPicos: ZERO,
  waivedPicos: ZERO,
  estimatedPicos: ZERO,
  upstreamCostPicos: ZERO,
  costed: 0,
}

const addSums = (a: ExploreSums, b: ExploreSums): ExploreSums => ({
  requests: a.requests + b.requests,
  usage: addUsage(a.usage, b.usage),
  costPicos: picos(a.costPicos + b.costPicos),
  waivedPicos: picos(a.waivedPicos + b.waivedPicos),
  estimatedPicos: picos(a.estimatedPicos + b.estimatedPicos),
  upstreamCostPicos: picos(a.upstreamCostPicos + b.upstreamCostPicos),
  costed: a.costed + b.costed,
})

export const sumExplored = (rows: readonly ExploreSums[]): ExploreSums => rows.reduce(addSums, NOTHING_USED)

export const idOf = ({ things }: Pick<ExploreRow, 'things'>): string => JSON.stringify(things.map(({ id }) => id))

/** Adds up rows of the same step and things, as they come. */
class Explored {
  readonly #step: ExploreQuery['step']
  readonly #rows = new Map<string, Identified>()

  constructor({ step }: Pick<ExploreQuery, 'step'>) {
    this.#step = step
  }

  add(rows: readonly ExploreRow[]): void {
    for (const row of rows) {
      const hour = this.#step === null ? 0 : stepAt(row.hour, this.#step)
      const id = idOf(row)
      const place = `${hour} ${id}`
      const known = this.#rows.get(place)
      this.#rows.set(place, { id, row: { ...row, ...(known === undefined ? {} : addSums(known.row, row)), hour } })
    }
  }

  get isTooMuch(): boolean {
    return this.#rows.size > ROWS_MAX
  }

  /** By time, and of one step the dearest first. */
  rows(): readonly ExploreRow[] {
    return [...this.#rows.values()].sort((a, b) => a.row.hour - b.row.hour || byCost(a, b)).map(({ row }) => row)
  }
}

/** The id is made once: of 50,000 rows that cost the same a sort compares it a million times, and every stream of the process waits. */
type Identified = Readonly<{ id: string; row: ExploreRow }>

const byCost = ({ id, row: a }: Identified, { id: other, row: b }: Identified): number =>
  Number(b.costPicos - a.costPicos) || b.requests - a.requests || (id < other ? -1 : 1)

/** `tooMuch`: the answer would have too many rows. */
export type ExploreFound = readonly ExploreRow[] | 'tooMuch'

/** Asks for all parts, each in the client's turn. */
export async function wholeExplored(reports: Reports, client: string, query: Omit<ExploreQuery, 'after'>): Promise<ExploreFound | Unread> {
  const explored = new Explored(query)
  for (let after: string | undefined; ; ) {
    const part = await reports.ask<'explore'>(client, { kind: 'explore', ...query, after })
    if (part === undefined) return 'unavailable'
    if (typeof part !== 'object') return part
    explored.add(part.rows)
    if (explored.isTooMuch) return 'tooMuch'
    if (part.next === null) return explored.rows()
    after = part.next
  }
}

/** The same for who reads the ledger itself. */
export function exploredBy(partOf: (query: ExploreQuery) => ExplorePart | undefined, query: Omit<ExploreQuery, 'after'>): ExploreFound {
  const explored = new Explored(query)
  for (let after: string | undefined; ; ) {
    const part = partOf({ ...query, after })
    explored.add(part?.rows ?? [])
    if (explored.isTooMuch) return 'tooMuch'
    if (part === undefined || part.next === null) return explored.rows()
    after = part.next
  }
}

/** Of each thing over all steps, the dearest first. */
export const groupsOf = (rows: readonly ExploreRow[]): readonly ExploreRow[] =>
  [...Map.groupBy(rows, idOf)]
    .flatMap(([id, of]) => of.slice(0, 1).map((first) => ({ id, row: { ...first, hour: 0, ...sumExplored(of) } })))
    .sort(byCost)
    .map(({ row }) => row)
