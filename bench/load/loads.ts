/** The loads, each a question to a gateway under sockets, and which metrics of `rows.ts` its answers are. */

import type { Job, Seen } from './generator.ts'
import { IN_ONE_PIECE, type Plan } from './wire.ts'

type Shape = Pick<Job, 'plan' | 'connections' | 'rampMs' | 'lags'>

export type Load = Readonly<{
  name: string
  shape: Shape
  /** The time before each turn's window, besides the warming up before a gateway's first turn. */
  settleMs: number
  windowMs: number
  /** The kind of answers for which a gateway is warmed up once. */
  kind: 'whole' | 'stream'
  /** Whether the only figure is CPU, so that the load has no turn without a gateway. */
  isCpu: boolean
  /** Whether the load also runs with `--quick`. */
  isQuick: boolean
  /** The number of connections for a gateway that is far slower; without this number such a gateway has no turn. */
  connectionsOfSlow?: number
  metricsOf: (seen: Seen) => Readonly<Record<string, number>>
}>

const paced = (perWrite: number, everyMs: number): Plan => ({ events: Number.POSITIVE_INFINITY, perWrite, everyMs })
const cpuOfEvents =
  (metric: string) =>
  ({ cpu, events }: Seen) => ({ [metric]: cpu.all / events })

/** Streams of so many events, as fast as the socket takes them. */
const burst = (name: string, events: number): Load => ({
  name,
  shape: { plan: { events, perWrite: 8, everyMs: 0 }, connections: 32, rampMs: 0, lags: false },
  settleMs: 500,
  windowMs: 2_000,
  kind: 'stream',
  isCpu: false,
  isQuick: true,
  connectionsOfSlow: 32,
  metricsOf: ({ events: seen, seconds, cpu }) => ({
    [`${name}.rate`]: seen / seconds,
    ...(cpu.all > 0 ? { [`${name}.cpu`]: cpu.all / seen } : {}),
  }),
})

export const LOADS: readonly Load[] = [
  {
    name: 'chat',
    shape: { plan: IN_ONE_PIECE, connections: 64, rampMs: 0, lags: false },
    settleMs: 300,
    windowMs: 2_500,
    kind: 'whole',
    isCpu: false,
    isQuick: true,
    connectionsOfSlow: 64,
    metricsOf: ({ answers, seconds, cpu }) => ({
      'chat.rate': answers / seconds,
      // Without a gateway no CPU is read, and only Tollgate has a thread for the ledger.
      ...(cpu.all > 0 ? { 'chat.cpu': cpu.all / answers } : {}),
      ...(cpu.ledger > 0 ? { 'chat.cpu.main': cpu.main / answers, 'chat.cpu.ledger': cpu.ledger / answers } : {}),
    }),
  },
  {
    name: 'one',
    shape: { plan: IN_ONE_PIECE, connections: 1, rampMs: 0, lags: false },
    settleMs: 300,
    windowMs: 2_000,
    kind: 'whole',
    isCpu: false,
    isQuick: true,
    connectionsOfSlow: 1,
    metricsOf: ({ answer }) => ({ 'one.p50': answer.p50, 'one.p99': answer.p99 }),
  },
  {
    name: 'streams',
    shape: { plan: paced(1, 20), connections: 1_000, rampMs: 1_000, lags: true },
    settleMs: 500,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: true,
    isQuick: false,
    connectionsOfSlow: 100,
    metricsOf: ({ cpu, events, lag }) => ({ 'streams.cpu': cpu.all / events, 'streams.lag': lag.p99 }),
  },
  {
    name: 'streams300',
    shape: { plan: paced(1, 20), connections: 300, rampMs: 500, lags: false },
    settleMs: 500,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: true,
    isQuick: true,
    metricsOf: cpuOfEvents('streams300.cpu'),
  },
  {
    name: 'writes8',
    shape: { plan: paced(8, 20), connections: 300, rampMs: 500, lags: false },
    settleMs: 500,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: true,
    isQuick: false,
    metricsOf: cpuOfEvents('writes8.cpu'),
  },
  {
    name: 'streams64',
    shape: { plan: { events: 64, perWrite: 1, everyMs: 20 }, connections: 300, rampMs: 1_000, lags: false },
    settleMs: 700,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: true,
    isQuick: true,
    metricsOf: cpuOfEvents('streams64.cpu'),
  },
  {
    name: 'writes64',
    shape: { plan: { events: 64, perWrite: 8, everyMs: 160 }, connections: 300, rampMs: 1_000, lags: false },
    settleMs: 700,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: true,
    isQuick: true,
    metricsOf: cpuOfEvents('writes64.cpu'),
  },
  burst('burst', 200),
  burst('burst2000', 2_000),
  {
    name: 'first',
    shape: { plan: { events: 25, perWrite: 1, everyMs: 20 }, connections: 100, rampMs: 500, lags: false },
    settleMs: 700,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: false,
    isQuick: true,
    connectionsOfSlow: 100,
    metricsOf: ({ firstEvent }) => ({ 'first.p50': firstEvent.p50, 'first.p99': firstEvent.p99 }),
  },
  {
    name: 'event',
    shape: { plan: paced(1, 5), connections: 1, rampMs: 0, lags: true },
    settleMs: 300,
    windowMs: 2_500,
    kind: 'stream',
    isCpu: false,
    isQuick: true,
    connectionsOfSlow: 1,
    metricsOf: ({ lag }) => ({ 'event.p50': lag.p50, 'event.p99': lag.p99 }),
  },
]

/** The plan with as many events as fill the warming up, the window and a little more. */
export function outlasting({ events, perWrite, everyMs }: Plan, ms: number): Plan {
  if (Number.isFinite(events)) return { events, perWrite, everyMs }
  return { events: Math.ceil(ms / everyMs) * perWrite, perWrite, everyMs }
}
