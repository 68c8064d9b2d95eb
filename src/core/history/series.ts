/**
 * Rows of moments as lines of a chart: a span cut into equal parts, for all requests and for each model or upstream. Any number of writers' rows are added.
 * Rules: pages.md "History".
 */

import { Times } from '../times.ts'
import { DAY_MS, isoTime } from '../utc.ts'
import type { AccountRow } from './bounded-counts.ts'
import type { CellRow, Step } from './moment.ts'

export type HistoryBy = 'model' | 'upstream'

/** Unix seconds; `to` is exclusive. `partS`: the width of a part, a multiple of `step`. */
export type HistorySpan = Readonly<{ from: number; to: number; step: Step; partS: number }>

export type Spread = Readonly<{ p50_ms: number | null; p95_ms: number | null; p99_ms: number | null }>

/** Counts of each part of the span, in order; the times of parts in which there were none are null. */
export type HistoryLine = Readonly<{
  name: string
  requests: readonly number[]
  /** By name; a name without any is left out. */
  refusals: Readonly<Record<string, readonly number[]>>
  first_byte: readonly Spread[]
  duration: readonly Spread[]
}>

export type AccountCount = Readonly<{ account: string; requests: number; refused: number }>

const MINUTES_KEPT_MS = 2 * DAY_MS
const PARTS_MAX = 120
/** Widths in seconds that people know: minutes, quarters of an hour, hours, days. */
const WIDTHS = [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 604_800] as const

/** The parts of a span: of minutes as long as they are kept, else of hours. `from`, `to`, `now`: Unix milliseconds. */
export function spanOf(from: number, to: number, now: number): HistorySpan {
  const step = from >= now - MINUTES_KEPT_MS && to - from <= MINUTES_KEPT_MS ? 60 : 3_600
  const seconds = (to - from) / 1_000
  const partS = WIDTHS.find((width) => width >= step && seconds / width <= PARTS_MAX) ?? 604_800
  const start = Math.floor(from / 1_000 / partS) * partS
  return { from: start, to: Math.ceil(to / 1_000 / partS) * partS, step, partS }
}

/** The starts of the parts, in ISO 8601. */
export const partsOf = ({ from, to, partS }: HistorySpan): readonly string[] =>
  Array.from({ length: Math.max(0, (to - from) / partS) }, (_, index) => isoTime((from + index * partS) * 1_000))

type Part = { requests: number; readonly refusals: Map<string, number>; readonly firstByte: Times; readonly duration: Times }

export class HistorySeries {
  readonly #span: HistorySpan
  readonly #by: HistoryBy
  readonly #lines = new Map<string, Map<number, Part>>()
  readonly #accounts = new Map<string, { requests: number; refused: number }>()

  constructor(span: HistorySpan, by: HistoryBy) {
    this.#span = span
    this.#by = by
  }

  /** `at`: Unix seconds of the moment's start. */
  add(at: number, cell: CellRow): void {
    const part = Math.floor((at - this.#span.from) / this.#span.partS)
    for (const name of ['', cell[this.#by] || 'none']) addTo(this.#partOf(name, part), cell)
  }

  addAccount({ account, requests, refused }: AccountRow): void {
    const known = this.#accounts.get(account) ?? { requests: 0, refused: 0 }
    this.#accounts.set(account, { requests: known.requests + requests, refused: known.refused + refused })
  }

  /** The line of all requests; its name is ''. */
  all(): HistoryLine {
    return this.#lineOf('')
  }

  /** A line for each model or upstream, that with the most requests first. */
  lines(): readonly HistoryLine[] {
    const sum = ({ requests }: HistoryLine): number => requests.reduce((total, count) => total + count, 0)
    return [...this.#lines.keys()]
      .filter((name) => name !== '')
      .map((name) => this.#lineOf(name))
      .toSorted((a, b) => sum(b) - sum(a) || a.name.localeCompare(b.name))
  }

  /** The account with the most requests first; the account '' is all others. */
  accounts(): readonly AccountCount[] {
    return [...this.#accounts].map(([account, counts]) => ({ account, ...counts })).toSorted((a, b) => b.requests - a.requests)
  }

  #partOf(name: string, index: number): Part {
    const line = this.#lines.get(name) ?? new Map<number, Part>()
    this.#lines.set(name, line)
    const part = line.get(index) ?? { requests: 0, refusals: new Map<string, number>(), firstByte: new Times(), duration: new Times() }
    line.set(index, part)
    return part
  }

  #lineOf(name: string): HistoryLine {
    const parts = this.#lines.get(name)
    const length = Math.max(0, (this.#span.to - this.#span.from) / this.#span.partS)
    const each = <T>(of: (part: Part | undefined) => T): readonly T[] => Array.from({ length }, (_, index) => of(parts?.get(index)))
    const reasons = new Set([...(parts?.values() ?? [])].flatMap(({ refusals }) => [...refusals.keys()]))
    return {
      name,
      requests: each((part) => part?.requests ?? 0),
      refusals: Object.fromEntries([...reasons].toSorted().map((reason) => [reason, each((part) => part?.refusals.get(reason) ?? 0)])),
      first_byte: each((part) => spreadOf(part?.firstByte)),
      duration: each((part) => spreadOf(part?.duration)),
    }
  }
}

function addTo(part: Part, { requests, refusals, firstByte, duration }: CellRow): void {
  part.requests += requests
  for (const [reason, count] of refusalsOf(refusals)) part.refusals.set(reason, (part.refusals.get(reason) ?? 0) + count)
  part.firstByte.merge(firstByte)
  part.duration.merge(duration)
}

/** What is no object of counts counts nothing. */
export function refusalsOf(text: string): readonly (readonly [string, number])[] {
  if (text === '{}') return []
  const found: unknown = JSON.parse(text)
  if (typeof found !== 'object' || found === null) return []
  return Object.entries(found).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
}

export const spreadOf = (times: Times | undefined): Spread => ({
  p50_ms: tenths(times?.percentile(0.5)),
  p95_ms: tenths(times?.percentile(0.95)),
  p99_ms: tenths(times?.percentile(0.99)),
})

const tenths = (ms: number | null | undefined): number | null => (ms === null || ms === undefined ? null : Math.round(ms * 10) / 10)
