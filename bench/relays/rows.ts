/** The rows of the table of relays on one ledger process, and what they must reach beside one relay or one process. */

import type { Figure, Goal, Row } from '../rows.ts'

export const RELAYS = [1, 2, 4] as const
export const ONE_PROCESS = 'one process'
export const nameOf = (relays: number): string => (relays === 1 ? '1 relay' : `${relays} relays`)

const beside = (name: string, metric: string, goals: ReadonlyMap<number, Goal>): readonly Row[] =>
  [...goals].map(([relays, goal]) => ({
    name: `${name}, ${nameOf(relays)} beside one`,
    only: nameOf(relays),
    figures: [{ metric, unit: '×', as: 'itself', goals: [goal] }],
  }))
const itself = (name: string, ...figures: readonly Pick<Figure, 'metric' | 'unit'>[]): Row => ({
  name,
  figures: figures.map((figure) => ({ ...figure, as: 'itself' })),
})
const FOUR = nameOf(4)
const GOALS: ReadonlyMap<number, Goal> = new Map([
  [2, { sense: 'least', value: 1.9, of: 'one' }],
  [4, { sense: 'least', value: 3.6, of: 'one' }],
])

export const ROWS: readonly Row[] = [
  itself('chat in one piece, 64 connections a relay', { metric: 'held.rate', unit: '/s' }),
  ...beside('chat in one piece', 'held.rate.times', GOALS),
  itself(
    'streams at twice the lag of one relay’s at most · lag p99',
    { metric: 'held.streams', unit: '' },
    { metric: 'held.lag', unit: 'µs' },
  ),
  ...beside('streams', 'held.streams.times', GOALS),
  itself('CPU a request, not held, 64 connections', { metric: 'free.cpu', unit: 'µs' }),
  {
    name: 'CPU a request, 4 relays beside one process',
    only: FOUR,
    figures: [{ metric: 'free.cpu.times', unit: '×', as: 'itself', goals: [{ sense: 'most', value: 1.12, of: 'one' }] }],
  },
  {
    name: 'memory of an idle relay: its own · its share (PSS)',
    only: FOUR,
    figures: [
      { metric: 'idle.own', unit: 'MB', as: 'itself', goals: [{ sense: 'most', value: 60, of: 'one' }] },
      { metric: 'idle.pss', unit: 'MB', as: 'itself' },
    ],
  },
]
