/** The series of Explore's charts of refusals and of first bytes, made of the answer. Rules: pages.md "Explore". */

import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import type { GroupName } from '../../parts/explore-view.ts'
import type { TrafficAnswer } from '../../parts/traffic-answer.ts'
import { wordsOf } from './now.words.ts'

/** A value is null where nothing was counted. */
export function trafficSeries({ by, series }: Pick<TrafficAnswer, 'by' | 'series'>) {
  const colours = coloursOf(series.flatMap(({ ids }) => (ids === null ? [] : [colourName(ids)])))
  return series.map(({ ids, values }) => ({
    name: ids === null ? 'others' : groupTitle(by, ids),
    colour: (ids === null ? undefined : colours.get(colourName(ids))) ?? OTHERS_COLOUR,
    values,
  }))
}

const groupTitle = (by: readonly GroupName[], ids: readonly string[]): string =>
  ids.map((id, at) => (by[at] === 'reason' ? wordsOf(id) : id)).join(', ')

/** Of one thing its id, by which it has the same colour on every page. */
const colourName = (ids: readonly string[]): string => (ids.length === 1 ? ids[0] : undefined) ?? JSON.stringify(ids)
