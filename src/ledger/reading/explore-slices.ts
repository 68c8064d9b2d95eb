/**
 * Sums of Explore on their way from the thread that reads, as texts of few rows each: what arrives as one value is taken apart in one piece before anything else runs, and
 * a text is only copied. A row is a list, which is read in half the time of an object with names. Rules: pages.md "Explore".
 */

import type { Measure } from '../../core/explore.ts'
import { type Picos, picos, ZERO } from '../../core/money.ts'
import { type Amount, added, type Cells, COLUMNS, type Value } from './explore-cells.ts'
import type { ExploreRow, Thing } from './explore-rows.ts'
import { ROWS_OF_TURN } from './loop-turns.ts'

/** Sums in texts, each of as many rows as a turn of the loop reads. */
export type ExploreSlices = Readonly<{ slices: readonly string[]; next: string | null }>

/** A part's sums, and the things that the values of a group stand for. */
export type NamedCells = Readonly<{ cells: Cells; thingsOf: (values: readonly Value[]) => readonly Thing[] }>

type Counts = [
  requests: number,
  input: number,
  output: number,
  read: number,
  written5m: number,
  written1h: number,
  uses: number,
  costed: number,
]
type SentRow = readonly [hour: number, ...Counts, ...amounts: [Amount, Amount, Amount, Amount], ...idsAndNames: string[]]
/** Of each step its first hour, the measure in it, and of a rate of how much it is: three after three. */
export type Steps = readonly Amount[]
type SentGroup = readonly [steps: Steps, row: SentRow]
export const STEP_WIDTH = 3

const sentOf = ({ cells, thingsOf }: NamedCells, values: readonly Value[], hour: number, places: readonly number[]): SentRow =>
  [hour, ...cells.sumsOf(places), ...thingsOf(values).flatMap(({ id, name }) => [id, name])] as unknown as SentRow

const FIRST_THING = 1 + COLUMNS.length

/** A row for each step and its things. */
export function* sentRows(named: NamedCells): Generator<SentRow, void> {
  for (const { values, steps } of named.cells.groups()) for (const [hour, place] of steps) yield sentOf(named, values, hour, [place])
}

type Columns = readonly (typeof COLUMNS)[number][]
/** What is added up for a measure; of a rate also of how much it is. */
const MEASURED: Readonly<Record<Measure, Readonly<{ of: Columns; all?: Columns }>>> = {
  spend: { of: ['cost'] },
  requests: { of: ['requests'] },
  input: { of: ['input'] },
  output: { of: ['output'] },
  cache_read: { of: ['cacheRead'] },
  cache_write: { of: ['cacheWrite5m', 'cacheWrite1h'] },
  cache_hits: { of: ['cacheRead'], all: ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] },
}

/** The sums of each group over all its steps, and the measure in each of them. `isByStep`: false where the question has no step. */
function* sentGroups(named: NamedCells, measure: Measure, isByStep: boolean): Generator<SentGroup, void> {
  const { cells } = named
  const [of, all] = [MEASURED[measure].of, MEASURED[measure].all ?? []].map((columns) => columns.map((column) => COLUMNS.indexOf(column)))
  for (const { values, steps } of cells.groups()) {
    const places = [...steps.values()]
    const measured = isByStep
      ? [...steps].flatMap(([hour, place]) => [hour, cells.sumAt(place, of ?? []), cells.sumAt(place, all ?? [])])
      : []
    yield [measured, sentOf(named, values, 0, places)]
  }
}

/** Fewer of them in a text where each has many steps, since one of these takes a part of the time of a row. */
const STEPS_OF_ROW = 10

export const slicesOfRows = (named: NamedCells): readonly string[] => textsOf(sentRows(named), () => 1)
export const slicesOfGroups = (named: NamedCells, measure: Measure, isByStep: boolean): readonly string[] =>
  textsOf(sentGroups(named, measure, isByStep), ([steps]) => 1 + steps.length / STEP_WIDTH / STEPS_OF_ROW)

function textsOf<T>(rows: Iterable<T>, weightOf: (row: T) => number): readonly string[] {
  const texts: string[] = []
  let [slice, weight]: [T[], number] = [[], 0]
  for (const row of rows) {
    slice.push(row)
    weight += weightOf(row)
    if (weight < ROWS_OF_TURN) continue
    texts.push(JSON.stringify(slice))
    slice = []
    weight = 0
  }
  return slice.length === 0 ? texts : [...texts, JSON.stringify(slice)]
}

const picosOf = (amount: Amount): Picos => (amount === 0 ? ZERO : picos(BigInt(amount)))

export const rowsIn = (slice: string): readonly ExploreRow[] => (JSON.parse(slice) as readonly SentRow[]).map(rowOf)

/** Sums over all steps, and the measure by step. */
export type GroupRow = ExploreRow & Readonly<{ steps: Steps }>
export const groupsIn = (slice: string): readonly GroupRow[] =>
  (JSON.parse(slice) as readonly SentGroup[]).map(([steps, row]) => Object.assign(rowOf(row), { steps }))

/** By index: to take a list apart by a pattern takes as long as to read its text. */
export function rowOf(row: SentRow): ExploreRow {
  const things: Thing[] = []
  for (let at = FIRST_THING; at < row.length; at += 2) things.push({ id: String(row[at]), name: String(row[at + 1]) })
  return {
    hour: row[0],
    things,
    requests: row[1],
    usage: { input: row[2], output: row[3], cacheRead: row[4], cacheWrite5m: row[5], cacheWrite1h: row[6], serverToolUses: row[7] },
    costed: row[8],
    costPicos: picosOf(row[9]),
    waivedPicos: picosOf(row[10]),
    estimatedPicos: picosOf(row[11]),
    upstreamCostPicos: picosOf(row[12]),
  }
}

/** A measure in a step. `all`: of a rate, of how much it is. */
export type StepValue = Readonly<{ value: Amount; all: Amount }>
export const NO_VALUE: StepValue = { value: 0, all: 0 }

/** By the first hours of the steps. */
export type StepValues = Map<number, StepValue>

/** Adds the values of steps to others. */
export function* addSteps(values: StepValues, steps: Steps): Generator<void, void> {
  for (let at = 0; at < steps.length; at += STEP_WIDTH) {
    const hour = Number(steps[at])
    const { value, all } = values.get(hour) ?? NO_VALUE
    values.set(hour, { value: added(value, steps[at + 1] ?? 0), all: added(all, steps[at + 2] ?? 0) })
    if (at % (STEP_WIDTH * STEPS_OF_ROW) === 0) yield
  }
}

export const stepsOf = (values: StepValues): Steps => [...values].flatMap(([hour, { value, all }]) => [hour, value, all])
