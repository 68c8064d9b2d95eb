/** Relays as the picture that the README shows: requests a second and streams over the number of relays, in multiples of one relay. */

import { chart, type Panel } from '../chart.ts'
import type { Readings } from '../readings.ts'
import { digits, inUnit } from '../units.ts'
import { nameOf, RELAYS } from './rows.ts'

const COSTS = [
  { title: 'Requests a second, in multiples of one relay (longer is better; the line is the goal)', metric: 'held.rate', unit: '/s' },
  { title: 'Streams of 50 events a second at twice the lag at most (longer is better)', metric: 'held.streams', unit: '' },
] as const
const GOALS: ReadonlyMap<number, number> = new Map([
  [2, 1.9],
  [4, 3.6],
])

export function relaysPicture(readings: Readings, caption: string): string {
  const panels = COSTS.map(({ title, metric, unit }): Panel => {
    const groups = RELAYS.flatMap((count) => {
      const [value, times] = [readings.median(metric, nameOf(count)), readings.median(`${metric}.times`, nameOf(count))]
      if (value === undefined || times === undefined) return []
      return [
        {
          name: nameOf(count),
          goal: GOALS.get(count),
          bars: [{ who: US, value: times, text: `${digits(times)} × (${inUnit(value, unit)})` }],
        },
      ]
    })
    return { title, from: 0, to: Math.max(...RELAYS), isLinear: true, groups }
  })
  return chart(panels, { us: US, reference: '', caption: `Each relay has a quarter of a core, the ledger process is free. ${caption}` })
}

const US = 'Tollgate'
