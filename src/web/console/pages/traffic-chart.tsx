/** The chart of refusals or first bytes on Explore. Rules: pages.md "Explore". */

import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Bars, Lines } from '../../parts/chart.tsx'
import { placesShown, placeText } from '../../parts/explore-series.ts'
import { showCount } from '../../parts/show-time.ts'
import type { TrafficAnswer } from '../../parts/traffic-answer.ts'
import { showMs } from './now.words.ts'
import { trafficSeries } from './traffic-series.ts'

/** The address of what is behind a step, of whose beginning it is told; undefined: no page has that alone. */
export type Behind = (place: string) => string | undefined

export const TrafficChart = ({ answer, behind }: Readonly<{ answer: TrafficAnswer; behind: Behind }>) => {
  const { measure, places } = answer
  const [pointed, setAt] = useState<number | null>(null)
  const { route } = useLocation()
  const days = useMemo(() => placesShown(answer), [answer])
  const series = useMemo(() => trafficSeries(answer), [answer])
  const high = Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  // Another question may have fewer steps than the one that was pointed into.
  const at = pointed !== null && pointed < places.length ? pointed : null
  const isBars = measure === 'refusals'
  const bars = useMemo(() => series.map(({ values, ...one }) => ({ ...one, values: values.map((value) => value ?? 0) })), [series])
  const opened = {
    label: measure === 'refusals' ? 'Bars of the chart: Enter shows the overview of one' : undefined,
    textOf: (index: number) => `${placeText(places[index] ?? '')}: ${pointedText(answer, index)}`,
    open: (index: number) => {
      const address = behind(places[index] ?? '')
      if (address !== undefined) route(address)
    },
  }
  return (
    <div class="card chart-card">
      <p class="readout" aria-hidden="true">
        {at === null ? <Whole answer={answer} /> : `${placeText(places[at] ?? '')}: ${pointedText(answer, at)}`}
      </p>
      {isBars ? (
        <Bars
          days={days}
          series={bars}
          showValue={(value) => (Number.isInteger(value) ? showCount(value) : '')}
          point={setAt}
          opened={opened}
        />
      ) : (
        <Lines days={days} series={series} max={high * 1.1} showValue={showMs} point={setAt} opened={opened} />
      )}
    </div>
  )
}

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

function pointedText(answer: TrafficAnswer, at: number): string {
  const values = trafficSeries(answer).map(({ name, values: all }) => ({ name, value: all[at] ?? null }))
  if (values.every(({ value }) => value === null)) return 'nothing was counted'
  if (answer.measure !== 'refusals') return values.map(({ name, value }) => `${name} ${showMs(value)}`).join(', ')
  return `${showCount(values.reduce((sum, { value }) => sum + (value ?? 0), 0))} refused`
}
