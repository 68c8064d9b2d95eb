/** The rows of the table of several processes on one ledger, and what they must reach. */

import type { Goal, Row } from '../rows.ts'

const HALF_P99_US = 5_000
const HOT_RATE = 20_000

const spends = (accounts: 1 | 1_000, { rate = [], half = [] }: Partial<Record<'rate' | 'half', readonly Goal[]>> = {}): readonly Row[] => {
  const of = accounts === 1 ? 'one hot account' : '1,000 accounts'
  const metric = (name: string): string => `spend.${accounts}.${name}`
  return [
    {
      name: `${of}: holds and settles, the ledger alone`,
      figures: [{ metric: metric('rate'), unit: '/s', as: 'itself', goals: rate }],
    },
    { name: `${of}: p99 of a settle, 512 in flight`, figures: [{ metric: metric('p99'), unit: 'µs', as: 'itself' }] },
    {
      name: `${of}: p50 · p99 of a settle at half of the most`,
      figures: [
        { metric: metric('half.p50'), unit: 'µs', as: 'itself' },
        { metric: metric('half.p99'), unit: 'µs', as: 'itself', goals: half },
      ],
    },
    {
      name: `${of}: CPU a settle, ours · Postgres'`,
      figures: [
        { metric: metric('cpu'), unit: 'µs', as: 'itself' },
        { metric: metric('postgres'), unit: 'µs', as: 'itself' },
      ],
    },
  ]
}

export const ROWS: readonly Row[] = [
  ...spends(1, {
    rate: [{ sense: 'least', value: HOT_RATE, of: 'one' }],
    half: [{ sense: 'most', value: HALF_P99_US, of: 'one' }],
  }),
  ...spends(1_000),
  { name: 'gateway: chat in one piece, 64 connections', figures: [{ metric: 'chat.rate', unit: '/s', as: 'itself' }] },
  { name: 'gateway: CPU a request, without Postgres', figures: [{ metric: 'chat.cpu', unit: 'µs', as: 'itself' }] },
  {
    name: 'gateway: one connection, added p50 · p99',
    figures: [
      { metric: 'one.p50', unit: 'µs', as: 'added' },
      { metric: 'one.p99', unit: 'µs', as: 'added' },
    ],
  },
]
