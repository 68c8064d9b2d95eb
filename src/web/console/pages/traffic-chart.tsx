/** The chart of refusals or first bytes on Explore. Rules: pages.md "Explore". */

import { useMemo, useState } from 'preact/hooks'
import { Bars, Lines } from '../../parts/chart.tsx'
import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import type { GroupName } from '../../parts/explore-view.ts'
import { showCount, showDay } from '../../parts/show-time.ts'
import type { TrafficAnswer } from '../../parts/traffic-answer.ts'
import { showMs, wordsOf } from './now.words.ts'

export const TrafficChart = ({ answer }: Readonly<{ answer: TrafficAnswer }>) => {
  const { by, measure, places, series, step } = answer
  const [pointed, setAt] = useState<number | null>(null)
  const drawn = useMemo(() => {
    const colours = coloursOf(series.flatMap(({ ids }) => (ids === null ? [] : [colourName(ids)])))
    return {
      days: places.map((place) => (step === 'hour' ? place.slice(11, 16) : showDay(place))),
      series: series.map(({ ids, values }) => ({
        name: ids === null ? 'others' : groupTitle(by, ids),
        colour: (ids === null ? undefined : colours.get(colourName(ids))) ?? OTHERS_COLOUR,
        values,
      })),
      high: Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))),
    }
  }, [answer])
  // Another question may have fewer steps than the one that was pointed into.
  const at = pointed !== null && pointed < places.length ? pointed : null
  const isBars = measure === 'refusals'
  const bars = useMemo(() => drawn.series.map(({ values, ...one }) => ({ ...one, values: values.map((value) => value ?? 0) })), [drawn])
  return (
    <div class="card chart-card">
      <p class="readout" aria-hidden="true">
        {at === null ? <Whole answer={answer} /> : `${placeText(places[at] ?? '')}: ${pointedText(answer, at)}`}
      </p>
      {isBars ? (
        <Bars days={drawn.days} series={bars} showValue={(value) => (Number.isInteger(value) ? showCount(value) : '')} point={setAt} />
      ) : (
        <Lines days={drawn.days} series={drawn.series} max={drawn.high * 1.1} showValue={showMs} point={setAt} />
      )}
    </div>
  )
}

const groupTitle = (by: readonly GroupName[], ids: readonly string[]): string =>
  ids.map((id, at) => (by[at] === 'reason' ? wordsOf(id) : id)).join(', ')

/** Of one thing its id, by which it has the same colour on every page. */
const colourName = (ids: readonly string[]): string => (ids.length === 1 ? ids[0] : undefined) ?? JSON.stringify(ids)

const placeText = (place: string): string => (place.length > 10 ? `${showDay(place.slice(0, 10))}, ${place.slice(11, 16)}` : showDay(place))

const Whole = ({ answer: { measure, total } }: Readonly<{ answer: TrafficAnswer }>) =>
  measure === 'refusals' ? (
    <>
      <strong>{showCount(total.refused)}</strong> of {showCount(total.requests ?? 0)} requests refused
    </>
  ) : (
    <>
      <strong>{showMs(total.p50_ms)}</strong> to the first byte, p95 {showMs(total.p95_ms)}, p99 {showMs(total.p99_ms)}
    </>
  )

function pointedText({ by, measure, series }: TrafficAnswer, at: number): string {
  const values = series.map(({ ids, values: all }) => ({ name: ids === null ? 'others' : groupTitle(by, ids), value: all[at] ?? null }))
  if (values.every(({ value }) => value === null)) return 'nothing was counted'
  if (measure !== 'refusals') return values.map(({ name, value }) => `${name} ${showMs(value)}`).join(', ')
  return `${showCount(values.reduce((sum, { value }) => sum + (value ?? 0), 0))} refused`
}
