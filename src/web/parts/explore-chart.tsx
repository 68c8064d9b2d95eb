/** The chart of Explore: amounts and counts as bars that add up, rates as lines that do not. Rules: pages.md "Explore". */

import { useMemo, useState } from 'preact/hooks'
import { Bars, Lines } from './chart.tsx'
import { MEASURES } from './explore-controls.tsx'
import { placesShown, placeText, rateSeries, sumSeries } from './explore-series.ts'
import { type Explored, percent, type TitleOf } from './explored.ts'
import { showCount } from './show-time.ts'
import { showUsd, sumUsd } from './show-usd.ts'

/** `open`: shows what is behind a step, of whose beginning it is told; undefined: no page has that alone. */
type Options = Readonly<{ explored: Explored; titleOf: TitleOf; open: ((place: string) => void) | undefined }>

export const ExploreChart = (options: Options) =>
  options.explored.measure === 'cache_hits' ? <RateChart {...options} /> : <SumChart {...options} />

const wholeText = ({ measure, total }: Explored): string =>
  `${MEASURES.find(({ value }) => value === measure)?.text.toLowerCase()}, ${showCount(total.requests)} requests`

const SumChart = ({ explored, titleOf, open }: Options) => {
  const { measure, places, series } = explored
  const [at, setAt] = useState<number | null>(null)
  const drawn = useMemo(() => ({ days: placesShown(explored), series: sumSeries(explored, titleOf) }), [explored, titleOf])
  const isUsd = measure === 'spend'
  const show = (exact: string): string => (isUsd ? showUsd(exact) : showCount(Number(exact)))
  const sumAt = (index: number): string => sumUsd(series.map(({ values }) => values[index] ?? '0'))
  const place = at === null ? undefined : places[at]
  return (
    <div class="card chart-card">
      <p class="readout" aria-hidden="true">
        <strong>
          {at === null || place === undefined
            ? show(sumUsd(series.flatMap(({ values }) => values.map((it) => it ?? '0'))))
            : show(sumAt(at))}
        </strong>{' '}
        {place === undefined ? wholeText(explored) : placeText(place)}
      </p>
      <Bars
        {...drawn}
        showValue={(value) => (isUsd ? showUsd(value.toFixed(6)) : showCount(Math.round(value)))}
        point={setAt}
        opened={openedBy(explored, open, (index) => show(sumAt(index)))}
      />
    </div>
  )
}

const RateChart = ({ explored, titleOf, open }: Options) => {
  const [at, setAt] = useState<number | null>(null)
  const drawn = useMemo(() => ({ days: placesShown(explored), series: rateSeries(explored, titleOf) }), [explored, titleOf])
  const place = at === null ? undefined : explored.places[at]
  const ratesAt = (index: number) => drawn.series.map(({ name, values }) => `${name} ${percent(values[index] ?? null)}`)
  return (
    <div class="card chart-card">
      <p class="readout" aria-hidden="true">
        {at === null || place === undefined ? (
          <>
            <strong>{percent(explored.total.cache_hit_thousandths)}</strong> {wholeText(explored)}
          </>
        ) : (
          `${placeText(place)}: ${ratesAt(at).join(', ')}`
        )}
      </p>
      <Lines
        {...drawn}
        max={WHOLE}
        showValue={percent}
        point={setAt}
        opened={openedBy(explored, open, (index) => ratesAt(index).join(', '))}
      />
    </div>
  )
}

function openedBy({ places }: Explored, open: Options['open'], textAt: (index: number) => string) {
  if (open === undefined) return undefined
  return {
    textOf: (index: number) => `${placeText(places[index] ?? '')}: ${textAt(index)}`,
    open: (index: number) => open(places[index] ?? ''),
  }
}

/** In thousandths. */
const WHOLE = 1_000
