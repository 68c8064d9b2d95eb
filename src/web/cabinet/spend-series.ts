/** The series of the chart of an account's spend, made of the answer. Rules: pages.md "Spend". */

import { coloursOf, OTHERS_COLOUR } from '../parts/colours.ts'
import { usdNumber } from '../parts/show-usd.ts'
import { keyTitle } from './key-title.ts'

/** `id`: null for all others. */
type Drawn = Readonly<{ id: string | null; name: string; values: readonly string[] }>

export function spendSeries({ series }: Readonly<{ series: readonly Drawn[] }>) {
  const colours = coloursOf(series.flatMap(({ id }) => (id === null ? [] : [id])))
  return series.map(({ id, name, values }) => ({
    name: id === null ? 'others' : keyTitle({ id, name }),
    colour: id === null ? OTHERS_COLOUR : (colours.get(id) ?? OTHERS_COLOUR),
    values: values.map(usdNumber),
  }))
}
