/** The chart of Explore: amounts and counts as bars that add up, rates as lines that do not. Rules: pages.md "Explore". */

import { useMemo, useState } from 'preact/hooks'
import { Bars, Lines } from './chart.tsx'
import { coloursOf, OTHERS_COLOUR } from './colours.ts'
import { MEASURES } from './explore-controls.tsx'
import { type Explored, idOf, percent, ratesOf, type TitleOf, titleOfAll } from './explored.ts'
import { showCount, showDay } from './show-time.ts'
import { showUsd, sumUsd, usdNumber } from './show-usd.ts'

type Options = Readonly<{ explored: Explored; titleOf: TitleOf }>

export const ExploreChart = (options: Options) =>
  options.explored.measure === 'cache_hits' ? <RateChart {...options} /> : <SumChart {...options} />

/** The texts of the axis, and each series with its name and colour. */
function useDrawn<Values>({ explored, titleOf }: Options, valuesOf: (values: Explored['series'][number]['values']) => Values) {
  const { by, places, series, step } = explored
  return useMemo(() => {
    const colours = coloursOf(series.flatMap(({ things }) => (things === null ? [] : [idOf(things)])))
    return {
      days: places.map((place) => (step === 'hour' ? place.slice(11, 16) : showDay(place))),
      series: series.map(({ things, values }) => ({
        name: things === null ? 'others' : titleOfAll(titleOf, by, things),
        colour: (things === null ? undefined : colours.get(idOf(things))) ?? OTHERS_COLOUR,
        values: valuesOf(values),
      })),
    }
  }, [explored, titleOf])
}

const placeText = (place: string): string => (place.length > 10 ? `${showDay(place.slice(0, 10))}, ${place.slice(11, 16)}` : showDay(place))
const wholeText = ({ measure, total }: Explored): string =>
  `${MEASURES.find(({ value }) => value === measure)?.text.toLowerCase()}, ${showCount(total.requests)} requests`

const SumChart = (options: Options) => {
  const { explored } = options
  const { measure, places, series } = explored
  const [at, setAt] = useState<number | null>(null)
  const drawn = useDrawn(options, (values) => values.map((value) => usdNumber(value ?? '0')))
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
      <Bars {...drawn} showValue={(value) => (isUsd ? showUsd(value.toFixed(6)) : showCount(Math.round(value)))} point={setAt} />
    </div>
  )
}

const RateChart = (options: Options) => {
  const { explored } = options
  const [at, setAt] = useState<number | null>(null)
  const drawn = useDrawn(options, ratesOf)
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
      <Lines {...drawn} max={WHOLE} showValue={percent} point={setAt} />
    </div>
  )
}

/** In thousandths. */
const WHOLE = 1_000
