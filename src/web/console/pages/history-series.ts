/** The series of the overview's charts of requests and of first bytes, made of the history. Rules: pages.md "History". */

import type { HistoryLine as Line } from '../../../core/history/series.ts'
import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import { wordsOf } from './now.words.ts'

const ANSWERED_COLOUR = '#0f9673'
const SPREAD_COLOURS = { p50_ms: '#0f9673', p95_ms: '#d08a2e', p99_ms: '#c65653' } as const
const REASONS_MAX = 5

export const refusedAt = ({ refusals }: Pick<Line, 'refusals'>, at: number): number =>
  sumOf(Object.values(refusals).map((counts) => counts[at] ?? 0))

/** What was answered, and below it the most frequent reasons of refusals; the others together. */
export function requestSeries(line: Pick<Line, 'requests' | 'refusals'>) {
  const reasons = Object.entries(line.refusals).toSorted(([, a], [, b]) => sumOf(b) - sumOf(a))
  const [shown, others] = [reasons.slice(0, REASONS_MAX), reasons.slice(REASONS_MAX)]
  const colours = coloursOf(
    shown.map(([name]) => name),
    ANSWERED_COLOUR,
  )
  return [
    { name: 'answered', colour: ANSWERED_COLOUR, values: line.requests.map((count, at) => count - refusedAt(line, at)) },
    ...shown.map(([name, values]) => ({ name: wordsOf(name), colour: colours.get(name) ?? OTHERS_COLOUR, values: [...values] })),
    ...(others.length === 0
      ? []
      : [
          {
            name: 'other refusals',
            colour: OTHERS_COLOUR,
            values: line.requests.map((_, at) => sumOf(others.map(([, counts]) => counts[at] ?? 0))),
          },
        ]),
  ]
}

export const timeSeries = ({ first_byte }: Pick<Line, 'first_byte'>) =>
  (['p50_ms', 'p95_ms', 'p99_ms'] as const).map((name) => ({
    name: name.replace('_ms', ''),
    colour: SPREAD_COLOURS[name],
    values: first_byte.map((spread) => spread[name]),
  }))

export const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/** The time of a part of a chart, in ISO 8601. */
export function partSpan(
  { parts, part_s }: Readonly<{ parts: readonly string[]; part_s: number }>,
  index: number,
): Readonly<{ from: string; to: string }> {
  const from = Date.parse(parts[index] ?? '')
  return { from: new Date(from).toISOString(), to: new Date(from + part_s * 1_000).toISOString() }
}
