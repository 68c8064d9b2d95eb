/** Charts, in the style guide: stacked bars with their legend, and the parts of a whole. Rules: pages.md "Style guide". */

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
