/** Puts together the parts of what was used: a row for each step and its things, and the sums of each thing over all steps. Rules: pages.md "Explore"; ledger.md "Hours". */

import type { Measure } from '../../core/explore.ts'
import { picos, ZERO } from '../../core/money.ts'
import { addUsage, NO_USAGE } from '../../core/usage.ts'
import type { ExplorePart, ExploreQuery } from './explore-reads.ts'
import type { ExploreRow, ExploreSums } from './explore-rows.ts'
import { addSteps, type GroupRow, groupsIn, rowsIn, STEP_WIDTH, type Steps, type StepValues, stepsOf } from './explore-slices.ts'
import { atOnce, inTurns, ordered, type Work } from './loop-turns.ts'
import type { Reports, Unread } from './reports.ts'

/** More rows than a page, a file or a spreadsheet is good for. */
export const ROWS_MAX = 50_000
/** Operators are few; of customers each could ask for much, also with a token that an operator gave them for their accounts. */
export const CUSTOMERS_ROWS_MAX = 5_000

export const NOTHING_USED: ExploreSums = {
  requests: 0,
  usage: NO_USAGE,
  costPicos: ZERO,
  waivedPicos: ZERO,
  estimatedPicos: ZERO,
  upstreamCostPicos: ZERO,
  costed: 0,
}

export const addSums = (a: ExploreSums, b: ExploreSums): ExploreSums => ({
  requests: a.requests + b.requests,
  usage: addUsage(a.usage, b.usage),
  costPicos: picos(a.costPicos + b.costPicos),
  waivedPicos: picos(a.waivedPicos + b.waivedPicos),
  estimatedPicos: picos(a.estimatedPicos + b.estimatedPicos),
  upstreamCostPicos: picos(a.upstreamCostPicos + b.upstreamCostPicos),
  costed: a.costed + b.costed,
})

export function* sumExplored(rows: readonly ExploreSums[]): Work<ExploreSums> {
  let sum = NOTHING_USED
  for (const row of rows) {
    sum = addSums(sum, row)
    yield
  }
  return sum
}

/** `id`: of the things. It is made once: of 50,000 rows that cost the same it is compared a million times. */
export type ExploredRow = ExploreRow & Readonly<{ id: string }>

const idOf = ({ things }: ExploreRow): string => JSON.stringify(things.map(({ id }) => id))

/** Adds up rows of the same step and things, as they come. */
class Explored {
  readonly #steps = new Map<number, Map<string, ExploredRow>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  *add(rows: readonly ExploreRow[]): Work<void> {
    for (const row of rows) {
      const id = idOf(row)
      const ofStep = this.#steps.getOrInsertComputed(row.hour, () => new Map())
      const known = ofStep.get(id)
      if (known === undefined) this.#size++
      ofStep.set(id, known === undefined ? { id, ...row } : { ...known, ...addSums(known, row) })
      yield
    }
  }

  *addSlice(slice: string): Work<void> {
    yield* this.add(rowsIn(slice))
  }

  rows(): readonly ExploredRow[] {
    return [...this.#steps.values()].flatMap((ofStep) => [...ofStep.values()])
  }
}

/** Amounts are compared and not subtracted, which would make a bigint for each of a million comparisons. */
export function byCost(a: ExploredRow, b: ExploredRow): number {
  if (a.costPicos !== b.costPicos) return a.costPicos < b.costPicos ? 1 : -1
  return b.requests - a.requests || (a.id < b.id ? -1 : 1)
}

/** By time, and of one step the dearest first. */
export const byTime = (rows: readonly ExploredRow[]): Work<readonly ExploredRow[]> =>
  ordered(rows, (a, b) => a.hour - b.hour || byCost(a, b))

/** `tooMuch`: the answer would have too many rows. */
export type ExploreFound = readonly ExploredRow[] | 'tooMuch'

type Whole = Readonly<{
  query: Omit<ExploreQuery, 'after'>
  rowsMax?: number
  turn?: () => Promise<void>
}>

/** Asks for all parts, each in the client's turn. The rows are in no order. */
export async function wholeExplored(reports: Reports, client: string, whole: Whole): Promise<ExploreFound | Unread> {
  const explored = new Explored()
  return (await allSlices(reports, client, whole, explored)) ?? explored.rows()
}

/** Sums of things over all steps, and the measure in each of the steps, as it was sent. */
export type ExploredGroup = ExploredRow & Readonly<{ steps: Steps }>

/** The same for a page, which has sums of things and one measure of each step: as many rows are too many. */
export async function wholeGroups(
  reports: Reports,
  client: string,
  { measure, ...whole }: Whole & Readonly<{ measure: Measure }>,
): Promise<readonly ExploredGroup[] | 'tooMuch' | Unread> {
  const groups = new Groups()
  return (await allSlices(reports, client, whole, groups, measure)) ?? groups.rows()
}

type Slices = Readonly<{ size: number; addSlice: (slice: string) => Work<void> }>

async function allSlices(
  reports: Reports,
  client: string,
  { query, rowsMax = ROWS_MAX, turn }: Whole,
  found: Slices,
  measure?: Measure,
): Promise<'tooMuch' | Unread | undefined> {
  for (let after: string | undefined; ; ) {
    const part = await reports.ask<'explore'>(client, { kind: 'explore', ...query, after, ...(measure && { measure }) })
    if (part === undefined) return 'unavailable'
    if (typeof part !== 'object') return part
    for (const slice of part.slices) {
      await inTurns(found.addSlice(slice), turn)
      if (found.size > rowsMax) return 'tooMuch'
    }
    if (part.next === null) return undefined
    after = part.next
  }
}

/** Adds up groups of the same things, as they come. */
class Groups {
  readonly #groups = new Map<string, ExploredGroup>()
  #size = 0

  /** How many rows a file would have: one for each step and its things. */
  get size(): number {
    return this.#size
  }

  *addSlice(slice: string): Work<void> {
    for (const row of groupsIn(slice)) {
      const id = idOf(row)
      const known = this.#groups.get(id)
      const group: ExploredGroup =
        known === undefined ? { id, ...row } : { ...known, ...addSums(known, row), steps: yield* stepsTogether(known, row) }
      this.#size += sizeOf(group) - (known === undefined ? 0 : sizeOf(known))
      this.#groups.set(id, group)
      yield
    }
  }

  rows(): readonly ExploredGroup[] {
    return [...this.#groups.values()]
  }
}

/** A group without steps is one row. */
const sizeOf = ({ steps }: GroupRow): number => Math.max(1, steps.length / STEP_WIDTH)

function* stepsTogether(a: GroupRow, b: GroupRow): Work<Steps> {
  const values: StepValues = new Map()
  yield* addSteps(values, a.steps)
  yield* addSteps(values, b.steps)
  return stepsOf(values)
}

/** The same for a process that reads the ledger itself, by time. */
export function exploredBy(partOf: (query: ExploreQuery) => ExplorePart | undefined, query: Omit<ExploreQuery, 'after'>): ExploreFound {
  const explored = new Explored()
  for (let after: string | undefined; ; ) {
    const part = partOf({ ...query, after })
    atOnce(explored.add(part?.rows ?? []))
    if (explored.size > ROWS_MAX) return 'tooMuch'
    if (part === undefined || part.next === null) return atOnce(byTime(explored.rows()))
    after = part.next
  }
}
