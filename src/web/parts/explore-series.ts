/** The series of Explore's charts of sums and of rates, made of the answer. Rules: pages.md "Explore". */

import { coloursOf, OTHERS_COLOUR } from './colours.ts'
import { type Explored, idOf, ratesOf, type TitleOf, titleOfAll } from './explored.ts'
import { showDay } from './show-time.ts'
import { usdNumber } from './show-usd.ts'

/** The texts of the axis. */
export const placesShown = ({ places, step }: Pick<Explored, 'places' | 'step'>): readonly string[] =>
  places.map((place) => (step === 'hour' ? place.slice(11, 16) : showDay(place)))

/** "22 Nov", or "22 Nov, 14:00" of an hour, by UTC. */
export const placeText = (place: string): string =>
  place.length > 10 ? `${showDay(place.slice(0, 10))}, ${place.slice(11, 16)}` : showDay(place)

type Drawn = Pick<Explored, 'by' | 'series'>

/** Amounts and counts. */
export const sumSeries = (drawn: Drawn, titleOf: TitleOf) =>
  seriesOf(drawn, titleOf, (values) => values.map((value) => usdNumber(value ?? '0')))
/** Rates as they are, in thousandths. */
export const rateSeries = (drawn: Drawn, titleOf: TitleOf) => seriesOf(drawn, titleOf, ratesOf)

function seriesOf<Values>({ by, series }: Drawn, titleOf: TitleOf, valuesOf: (values: Drawn['series'][number]['values']) => Values) {
  const colours = coloursOf(series.flatMap(({ things }) => (things === null ? [] : [idOf(things)])))
  return series.map(({ things, values }) => ({
    name: things === null ? 'others' : titleOfAll(titleOf, by, things),
    colour: (things === null ? undefined : colours.get(idOf(things))) ?? OTHERS_COLOUR,
    values: valuesOf(values),
  }))
}
