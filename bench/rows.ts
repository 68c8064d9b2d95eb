/**
 * The rows of the table: which figures stand in each, what they are compared with, and what they must reach. R is the bare passthrough; goals stand in R, in P
 * (Portkey), in flushes of this disk, or by themselves.
 */

import { NONE } from './readings.ts'
import type { Unit } from './units.ts'

/** `most` with value 2.5 of R means "≤ 2.5 R". `plus` is in the figure's unit. */
export type Goal = Readonly<{ sense: 'most' | 'least'; value: number; of: 'R' | 'P' | 'flush' | 'idle' | 'one'; plus?: number }>

export type Figure = Readonly<{
  metric: string
  unit: Unit
  /** The figure is shown as a multiple of R, as the difference to R, or as itself. */
  as: 'ratio' | 'added' | 'itself'
  /** The text before the figure where a row has several figures. */
  label?: string
  goals?: readonly Goal[]
}>

export type Row = Readonly<{
  name: string
  figures: readonly Figure[]
  /** The only contestant in this row, whose figures its goals are for; default: all are in it, and goals are for Tollgate. */
  only?: string
}>

const most = (value: number, of: Goal['of'] = 'one', plus = 0): Goal => ({ sense: 'most', value, of, plus })
const least = (value: number, of: Goal['of'] = 'one'): Goal => ({ sense: 'least', value, of })

/** `receipts`: how many receipts the ledger in use has. */
export const rowsWith = (receipts: number): readonly Row[] => [
  {
    name: 'chat in one piece, 64 connections',
    figures: [{ metric: 'chat.rate', unit: '/s', as: 'ratio', goals: [least(0.33, 'R'), least(20, 'P')] }],
  },
  {
    name: 'CPU a request, all threads',
    figures: [
      { metric: 'chat.cpu', unit: 'µs', as: 'ratio', goals: [most(3.2, 'R')] },
      { metric: 'chat.cpu.main', unit: 'µs', as: 'itself', label: 'main' },
      { metric: 'chat.cpu.ledger', unit: 'µs', as: 'itself', label: 'ledger' },
    ],
  },
  {
    name: 'one connection, added p50 · p99',
    figures: [
      { metric: 'one.p50', unit: 'µs', as: 'added', goals: [most(1, 'flush', 200)] },
      { metric: 'one.p99', unit: 'µs', as: 'added', goals: [most(5, 'flush')] },
    ],
  },
  { name: 'one flush of this disk (fdatasync)', figures: [{ metric: 'flush', unit: 'µs', as: 'itself' }] },
  {
    name: 'CPU an event, 1,000 streams, 1 a write · lag p99',
    figures: [
      { metric: 'streams.cpu', unit: 'µs', as: 'ratio', goals: [most(1.3, 'R')] },
      { metric: 'streams.lag', unit: 'µs', as: 'ratio', goals: [most(2, 'R')] },
    ],
  },
  {
    name: 'CPU an event of 300 open streams · 8 a write',
    figures: [
      { metric: 'streams300.cpu', unit: 'µs', as: 'ratio' },
      { metric: 'writes8.cpu', unit: 'µs', as: 'ratio' },
    ],
  },
  {
    name: 'the same of streams of 64 events, begun and settled',
    figures: [
      { metric: 'streams64.cpu', unit: 'µs', as: 'ratio', goals: [most(1.6, 'R')] },
      { metric: 'writes64.cpu', unit: 'µs', as: 'ratio', goals: [most(1.6, 'R')] },
    ],
  },
  {
    name: 'burst, 200 events a stream, 8 a chunk · CPU an event',
    figures: [
      { metric: 'burst.rate', unit: '/s', as: 'ratio', goals: [least(0.6, 'R')] },
      { metric: 'burst.cpu', unit: 'µs', as: 'ratio' },
    ],
  },
  {
    name: 'burst, 2,000 events a stream · CPU an event',
    figures: [
      { metric: 'burst2000.rate', unit: '/s', as: 'ratio', goals: [least(0.6, 'R')] },
      { metric: 'burst2000.cpu', unit: 'µs', as: 'ratio' },
    ],
  },
  {
    name: 'headroom: the load with nothing between, chat · burst · 2,000 events a stream',
    only: NONE,
    figures: ['chat.rate', 'burst.rate', 'burst2000.rate'].map((metric) => ({ metric, unit: '/s', as: 'ratio', goals: [least(2, 'R')] })),
  },
  {
    name: 'first event, 100 streams, added p50 · p99',
    figures: [
      { metric: 'first.p50', unit: 'µs', as: 'added', goals: [most(400)] },
      { metric: 'first.p99', unit: 'µs', as: 'added', goals: [most(1_500)] },
    ],
  },
  {
    name: 'an event, one stream, added p50 · p99',
    figures: [
      { metric: 'event.p50', unit: 'µs', as: 'added', goals: [most(80)] },
      { metric: 'event.p99', unit: 'µs', as: 'added', goals: [most(230)] },
    ],
  },
  {
    name: 'memory, 5,000 open streams · 8 s after',
    figures: [
      { metric: 'memory.open', unit: 'MB', as: 'itself', goals: [most(150)] },
      { metric: 'memory.after', unit: 'MB', as: 'itself', goals: [most(1.3, 'idle')] },
    ],
  },
  {
    name: 'a debit in groups of 16, the ledger alone, sustained · CPU · with its page table and the log moved',
    figures: [
      { metric: 'debit.rate', unit: '/s', as: 'itself', goals: [least(40_000)] },
      { metric: 'debit.cpu', unit: 'µs', as: 'itself' },
      { metric: 'debit.tidied.cpu', unit: 'µs', as: 'itself', goals: [most(18)] },
    ],
  },
  {
    name: `start to first answer · with ${receipts.toLocaleString('en-US')} receipts`,
    figures: [
      { metric: 'start.empty', unit: 'ms', as: 'itself', goals: [most(90)] },
      { metric: 'start.full', unit: 'ms', as: 'itself', goals: [most(100)] },
    ],
  },
  {
    name: 'lag p99 of 100 streams beside 30 MB bodies',
    figures: [{ metric: 'beside.p99', unit: 'µs', as: 'ratio', goals: [most(3, 'R')] }],
  },
]
