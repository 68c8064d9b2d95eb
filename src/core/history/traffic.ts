/**
 * Refusals and first bytes by model, upstream and reason, in steps of whole UTC hours: rows of hours of any number of writers are added, the histograms of times too, so that a
 * percentile is that of all requests together. Rules: pages.md "Explore", "History".
 */

import { SERIES_MAX, SHOWN_ROWS_MAX, type Step, stepAt, stepsBetween, type TrafficDimension, type TrafficMeasure } from '../explore.ts'
import { Times } from '../times.ts'
import type { CellRow } from './moment.ts'
import { refusalsOf, type Spread, spreadOf } from './series.ts'

/** Whole hours since 1970, both included. `only`: ids by what they are of; none: all. */
export type TrafficAsked = Readonly<{
  fromHour: number
  toHour: number
  by: readonly TrafficDimension[]
  step: Step
  measure: TrafficMeasure
  only: Readonly<{ model?: readonly string[]; upstream?: readonly string[] }>
  /** With the rows of all steps. */
  isFile: boolean
}>

/** `requests`: null by reason, since only what was refused has one. */
export type TrafficFigures = Spread & Readonly<{ requests: number | null; refused: number }>
type Group = TrafficFigures & Readonly<{ ids: readonly string[] }>
/** A step's group. `hour`: the step's first. */
export type TrafficRow = Group & Readonly<{ hour: number }>

export type TrafficFound = Readonly<{
  /** JSON texts of `TrafficRow`s, of 200 each, in the order of time; for a file alone. */
  rows: readonly string[]
  /** Those with the most of the measure first, as many as a page shows. */
  groups: readonly Group[]
  /** All groups beyond those. */
  others: (TrafficFigures & Readonly<{ count: number }>) | null
  total: TrafficFigures
  /** The measure of each step, of the first groups and of all others (`ids`: null). Null: nothing was counted in the step. */
  series: readonly Readonly<{ ids: readonly string[] | null; values: readonly (number | null)[] }>[]
}>

/** A request without a model, or one that reached no upstream. */
const NO_NAME = '(none)'
/** Each of them has a histogram of 1.5 kB while it is added up. */
const ROWS_MAX = 20_000
const ROWS_OF_TEXT = 200
const HOUR_S = 3_600

type Tally = { requests: number; refused: number; readonly firstByte: Times }
const newTally = (): Tally => ({ requests: 0, refused: 0, firstByte: new Times() })

export const secondsOf = ({ fromHour, toHour }: TrafficAsked) => ({ from: fromHour * HOUR_S, to: (toHour + 1) * HOUR_S })

export class TrafficSums {
  readonly #asked: TrafficAsked
  /** By step and group. */
  readonly #tallies = new Map<number, Map<string, Tally>>()
  readonly #total = newTally()
  #rows = 0

  constructor(asked: TrafficAsked) {
    this.#asked = asked
  }

  /** More rows than an answer has: nothing needs to be added any more. */
  get isTooMuch(): boolean {
    return this.#rows > ROWS_MAX
  }

  /** `at`: Unix seconds of an hour's start. */
  add(at: number, cell: CellRow): void {
    const { step, by, only } = this.#asked
    const hour = stepAt(Math.floor(at / HOUR_S), step)
    const groups = this.#tallies.get(hour) ?? new Map<string, Tally>()
    // A step in which anything was counted is known for all groups.
    this.#tallies.set(hour, groups)
    const names = { model: cell.model || NO_NAME, upstream: cell.upstream || NO_NAME }
    if (!(only.model?.includes(names.model) ?? true) || !(only.upstream?.includes(names.upstream) ?? true)) return
    const refusals = refusalsOf(cell.refusals)
    const refused = refusals.reduce((sum, [, count]) => sum + count, 0)
    const whole = { requests: cell.requests, refused, firstByte: cell.firstByte }
    addTo(this.#total, whole)
    const idOf = (reason: string): string => JSON.stringify(by.map((one) => (one === 'reason' ? reason : names[one])))
    if (!by.includes('reason')) addTo(this.#tallyOf(groups, idOf('')), whole)
    else for (const [reason, count] of refusals) this.#tallyOf(groups, idOf(reason)).refused += count
  }

  /** Yields after each piece of work, of some microseconds, since a gateway may do it beside its requests. */
  *found(): Generator<void, TrafficFound | 'tooMuch'> {
    if (this.isTooMuch) return 'tooMuch'
    const ranked = yield* this.#ranked()
    const [shown, unshown] = [ranked.slice(0, SERIES_MAX), ranked.slice(SERIES_MAX)]
    const series: TrafficFound['series'][number][] = []
    for (const { id } of shown) series.push({ ids: idsIn(id), values: yield* this.#valuesOf([id]) })
    if (unshown.length > 0) series.push({ ids: null, values: yield* this.#valuesOf(unshown.map(({ id }) => id)) })
    const beyond = ranked.slice(SHOWN_ROWS_MAX)
    return {
      rows: this.#asked.isFile ? yield* this.#rowTexts() : [],
      groups: ranked.slice(0, SHOWN_ROWS_MAX).map(({ id, figures }) => ({ ids: idsIn(id), ...figures })),
      others: beyond.length === 0 ? null : { count: beyond.length, ...this.#figuresOf(yield* together(beyond.map(({ tally }) => tally))) },
      total: figuresOf(this.#total),
      series,
    }
  }

  /** The groups over all steps, those with the most of the measure first. */
  *#ranked() {
    const wholes = new Map<string, Tally>()
    for (const groups of this.#tallies.values())
      for (const [id, tally] of groups) {
        const whole = wholes.get(id) ?? newTally()
        wholes.set(id, whole)
        addAll(whole, tally)
        yield
      }
    const ranked: Readonly<{ id: string; tally: Tally; figures: TrafficFigures; rank: number }>[] = []
    for (const [id, tally] of wholes) {
      const figures = this.#figuresOf(tally)
      ranked.push({ id, tally, figures, rank: measured(figures, this.#asked.measure) ?? -1 })
      yield
    }
    return ranked.toSorted((a, b) => b.rank - a.rank || b.tally.requests - a.tally.requests || (a.id < b.id ? -1 : 1))
  }

  *#valuesOf(ids: readonly string[]) {
    const { fromHour, toHour, step, measure } = this.#asked
    const values: (number | null)[] = []
    for (const hour of stepsBetween(fromHour, toHour, step)) {
      const groups = this.#tallies.get(hour)
      const tallies = groups === undefined ? undefined : ids.flatMap((id) => groups.get(id) ?? [])
      values.push(tallies === undefined ? null : measured(this.#figuresOf(yield* together(tallies)), measure))
      yield
    }
    return values
  }

  *#rowTexts() {
    const texts: string[] = []
    let rows: TrafficRow[] = []
    const put = (): void => {
      if (rows.length > 0) texts.push(JSON.stringify(rows))
      rows = []
    }
    for (const hour of [...this.#tallies.keys()].toSorted((a, b) => a - b))
      for (const [id, tally] of this.#tallies.get(hour) ?? []) {
        rows.push({ hour, ids: idsIn(id), ...this.#figuresOf(tally) })
        if (rows.length === ROWS_OF_TEXT) put()
        yield
      }
    put()
    return texts
  }

  #figuresOf(tally: Tally): TrafficFigures {
    return this.#asked.by.includes('reason') ? { ...figuresOf(tally), requests: null } : figuresOf(tally)
  }

  #tallyOf(groups: Map<string, Tally>, id: string): Tally {
    const known = groups.get(id)
    if (known !== undefined) return known
    this.#rows++
    const tally = newTally()
    groups.set(id, tally)
    return tally
  }
}

function addTo(
  tally: Tally,
  { requests, refused, firstByte }: Readonly<{ requests: number; refused: number; firstByte: Uint8Array }>,
): void {
  tally.requests += requests
  tally.refused += refused
  tally.firstByte.merge(firstByte)
}

function addAll(sum: Tally, { requests, refused, firstByte }: Tally): void {
  sum.requests += requests
  sum.refused += refused
  sum.firstByte.addAll(firstByte)
}

function* together(tallies: readonly Tally[]): Generator<void, Tally> {
  const sum = newTally()
  for (const tally of tallies) {
    addAll(sum, tally)
    yield
  }
  return sum
}

const figuresOf = ({ requests, refused, firstByte }: Tally): TrafficFigures => ({ requests, refused, ...spreadOf(firstByte) })

const MEASURED = { first_byte_p50: 'p50_ms', first_byte_p95: 'p95_ms', first_byte_p99: 'p99_ms' } as const
const measured = (figures: TrafficFigures, measure: TrafficMeasure): number | null =>
  measure === 'refusals' ? figures.refused : figures[MEASURED[measure]]

const idsIn = (id: string): readonly string[] => JSON.parse(id) as readonly string[]
