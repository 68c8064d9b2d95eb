/** The series of the overview's chart of the spend, and the time that a bar stands for. Rules: pages.md "Now". */

import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import { titlesOf } from '../../parts/explore-titles.ts'
import type { ThingName } from '../../parts/explore-view.ts'
import type { Explored } from '../../parts/explored.ts'
import { usdNumber } from '../../parts/show-usd.ts'

type Drawn = Readonly<{ by: ThingName; data: Parameters<typeof titlesOf>[1]; series: Explored['series'] }>

export function spentSeries({ by, data, series }: Drawn) {
  const titleOf = titlesOf([by], data)
  const colours = coloursOf(series.flatMap(({ things }) => (things?.[0] === undefined ? [] : [things[0].id])))
  return series.map(({ things, values }) => {
    const id = things?.[0]?.id
    return {
      name: id === undefined ? 'others' : titleOf(by, id),
      colour: (id === undefined ? undefined : colours.get(id)) ?? OTHERS_COLOUR,
      values: values.map((value) => usdNumber(value ?? '0')),
    }
  })
}

type Bars = Readonly<{ from: string; to: string; places: readonly string[]; step_s: number }>

/** The hours of a bar: of the first and the last day only those that are in the sum. */
export function barSpan({ from, to, places, step_s }: Bars, index: number) {
  const start = Date.parse(places[index] ?? '')
  return {
    from: new Date(Math.max(start, Date.parse(from))).toISOString(),
    to: new Date(Math.min(start + step_s * 1_000, Date.parse(to))).toISOString(),
  }
}
