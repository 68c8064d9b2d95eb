/** The readings as the picture that the README shows: what each gateway costs in multiples of the bare passthrough, and what it adds to a latency. */

import { type Bar, chart, type Group, type Panel } from './chart.ts'
import { type Readings, TOLLGATE } from './readings.ts'
import { digits, inUnit } from './units.ts'

const REFERENCE = 'R'
const NAMES: Readonly<Record<string, string>> = { R: 'bare Bun', N: 'nginx', P: 'Portkey' }

/** `goal`: in multiples of R. */
type Cost = Readonly<{ name: string; metric: string; isRate?: boolean; goal?: number }>

const COSTS: readonly Cost[] = [
  { name: 'time a request, 64 connections', metric: 'chat.rate', isRate: true, goal: 1 / 0.33 },
  { name: 'CPU a request', metric: 'chat.cpu', goal: 3.2 },
  { name: 'CPU an event, 1,000 streams', metric: 'streams.cpu', goal: 1.3 },
  { name: 'time an event, burst', metric: 'burst.rate', isRate: true, goal: 1 / 0.6 },
  { name: 'memory, 5,000 streams', metric: 'memory.open', goal: 1.5 },
]

/** `goalUs`: microseconds above R. A goal in flushes stands only in the table. */
const LATENCIES: readonly Readonly<{ name: string; metric: string; goalUs?: number }>[] = [
  { name: 'a request, one connection', metric: 'one.p50' },
  { name: 'the first event, 100 streams', metric: 'first.p50', goalUs: 400 },
  { name: 'an event, one stream', metric: 'event.p50', goalUs: 80 },
]

export function picture(readings: Readings, contestants: readonly string[], caption: string): string {
  const panels: Panel[] = [
    {
      title: 'Cost, in multiples of a bare proxy (1 is none; logarithmic, shorter is better)',
      from: 0.5,
      to: 200,
      groups: COSTS.map((cost) => costOf(cost, readings, contestants)),
    },
    {
      title: 'Latency added to that of a bare proxy, median (logarithmic, shorter is better)',
      from: 10,
      to: 200_000,
      groups: LATENCIES.map(({ name, metric, goalUs }) => ({ name, goal: goalUs, bars: addedBars(metric, readings, contestants) })),
    },
  ]
  const drawn = panels.map((panel) => ({ ...panel, groups: panel.groups.filter(({ bars }) => bars.length > 0) }))
  return chart(drawn, { us: TOLLGATE, reference: nameOf(REFERENCE), caption })
}

const nameOf = (contestant: string): string => NAMES[contestant] ?? contestant

function costOf({ name, metric, isRate = false, goal }: Cost, readings: Readings, contestants: readonly string[]): Group {
  const reference = readings.median(metric, REFERENCE)
  const bars = contestants.flatMap((contestant): Bar[] => {
    const value = readings.median(metric, contestant)
    if (value === undefined || reference === undefined) return []
    const cost = isRate ? reference / value : value / reference
    return [{ who: nameOf(contestant), value: cost, text: digits(cost) }]
  })
  return { name, goal, bars }
}

function addedBars(metric: string, readings: Readings, contestants: readonly string[]): readonly Bar[] {
  const reference = readings.median(metric, REFERENCE)
  return contestants.flatMap((contestant): Bar[] => {
    const value = readings.median(metric, contestant)
    if (value === undefined || reference === undefined || contestant === REFERENCE) return []
    const added = value - reference
    return [{ who: nameOf(contestant), value: added, text: `${added < 0 ? '−' : '+'}${inUnit(Math.abs(added), 'µs')}` }]
  })
}
