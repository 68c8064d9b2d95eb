/** Charts, in the style guide: stacked bars with their legend, counts and times over a span with what happened in it, and the parts of a whole. Rules: pages.md "Style guide". */

import { TimeChart } from '../console/pages/time-chart.tsx'
import { Bars } from '../parts/chart.tsx'
import { coloursOf, OTHERS_COLOUR } from '../parts/colours.ts'

const nothing = (): void => undefined
const DAYS = Array.from({ length: 14 }, (_, at) => `${at + 8} Nov`)
const NAMES = ['sample-large', 'sample-medium', 'sample-small']
const COLOURS = coloursOf(NAMES)
const SERIES = [...NAMES, 'others'].map((name, of) => ({
  name,
  colour: COLOURS.get(name) ?? OTHERS_COLOUR,
  values: DAYS.map((_, at) => (at % 7 > 4 ? 1 : 4 + ((at * (of + 3)) % 5))),
}))

export const Charts = () => (
  <div class="card chart-card">
    <p class="readout">
      <strong>$158.58</strong> from 8 Nov to 21 Nov
    </p>
    <Bars days={DAYS} series={SERIES} showValue={(value) => `$${value.toFixed(2)}`} point={nothing} />
  </div>
)

const HOUR_S = 3_600
const at = (hour: number): string => new Date(Date.UTC(2026, 10, 21, hour)).toISOString()
const HOURS = Array.from({ length: 24 }, (_, hour) => at(hour))
const DAY = {
  from: at(0),
  to: at(24),
  parts: HOURS,
  partS: HOUR_S,
  endsNow: false,
  point: nothing,
  choose: nothing,
  opened: { what: 'the requests of one', open: nothing },
  marks: [
    { at: at(9), isBad: true },
    { at: at(17), isBad: false },
  ],
}
const COUNTED = ['answered', 'insufficient balance', 'rate limited'].map((name, of) => ({
  name,
  colour: COLOURS.get(NAMES[of] ?? '') ?? OTHERS_COLOUR,
  values: HOURS.map((_, hour) => (of === 0 ? 8 + ((hour * 7) % 5) : (hour * (of + 1)) % (of + 3))),
}))
/** No request was answered from 9 to 11. */
const TIMED = ['p50', 'p95', 'p99'].map((name, of) => ({
  name,
  colour: COLOURS.get(NAMES[of] ?? '') ?? OTHERS_COLOUR,
  values: HOURS.map((_, hour) => (hour === 9 || hour === 10 ? null : 100 * (of + 1) ** 2 + ((hour * 13) % 40))),
}))

/** After a kill a dashed line, at a reload a whole one. */
export const TimeCharts = () => (
  <>
    <TimeChart {...DAY} series={COUNTED} isStacked showValue={String} />
    <TimeChart {...DAY} series={TIMED} isStacked={false} showValue={(ms) => `${ms} ms`} />
  </>
)

export const SmallCharts = () => (
  <>
    <dl class="kinds">
      {[
        ['Input', 13_526_337, 0.16],
        ['Cache read', 81_629_187, 0.8],
      ].map(([name, count, share]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{count}</dd>
          <dd>
            <svg class="kind" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect width={Number(share) * 100} height="1" />
            </svg>
          </dd>
        </div>
      ))}
    </dl>
    <svg class="spark" viewBox="0 0 60 10" preserveAspectRatio="none" aria-hidden="true">
      <path d="M0 8L10 6L20 7L30 2L40 5L50 4L60 1" />
    </svg>
  </>
)
