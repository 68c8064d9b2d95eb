/**
 * Relays on one ledger process: what one, two and four of them do, each held to a quarter of a core while the ledger process is free, so that a machine of two cores
 * shows what more relays do on more cores; what a request costs beside one process; and the memory of a relay that is idle.
 */

import { sleep } from '../clock.ts'
import { judge, judgedText } from '../judge.ts'
import { ownBytes } from '../load/cpu.ts'
import type { Gateway } from '../load/gateways.ts'
import type { Seen } from '../load/generator.ts'
import { outlasting } from '../load/loads.ts'
import type { Generator } from '../load/processes.ts'
import { ask, type Say } from '../load/run-loads.ts'
import type { Stage } from '../load/stage.ts'
import { IN_ONE_PIECE, type Plan } from '../load/wire.ts'
import { Readings, TOLLGATE } from '../readings.ts'
import { loadNow, type PartRun } from '../results.ts'
import { median, turns } from '../statistics.ts'
import { tableText } from '../table.ts'
import { digits } from '../units.ts'
import { type Held, holdEach } from './quota.ts'
import { type RelaySet, startRelays } from './relay-set.ts'
import { nameOf, ONE_PROCESS, RELAYS, ROWS } from './rows.ts'

/** How long a gateway is warmed up for each kind of answer, and how many turns of which length there are. */
export type RelaysPace = Readonly<{ rounds: number; warmMs: number; windowMs: number }>
export const RELAYS_FULL: RelaysPace = { rounds: 3, warmMs: 4_000, windowMs: 2_000 }
export const RELAYS_QUICK: RelaysPace = { rounds: 1, warmMs: 1_500, windowMs: 1_000 }

const CONNECTIONS = 64
/** About half of what a quarter of a core carries. */
const STREAMS = 120
const EVENTS: Plan = { events: Number.POSITIVE_INFINITY, perWrite: 1, everyMs: 20 }
/** The shares of as many streams a relay as one relay has, from the most on: the first of them that is in time counts. */
const SHARES = [1, 0.95, 0.9, 0.8, 0.6]
const LAG_MOST = 2
const RAMP_MS = 1_000
const SETTLE_MS = 500
const DRAIN_SPARE_MS = 300
/** As long as after 5,000 streams: collections and what gives memory back take their time. */
const IDLE_AFTER_MS = 8_000
const BYTES_A_MB = 1e6
const CONTESTANTS = [ONE_PROCESS, ...RELAYS.map(nameOf)]

type Running = RelaySet & Readonly<{ count: number }>
type Measuring = Readonly<{ generator: Generator; pace: RelaysPace; readings: Readings; say: Say }>

export async function measureRelays(stage: Stage, pace: RelaysPace, say: Say): Promise<PartRun> {
  const loadBefore = loadNow()
  const readings = new Readings()
  const measuring = { generator: stage.generators[0], pace, readings, say }
  const notes = ['the ledger process of a set is not held; all processes and the load share the machine']
  const running: Running[] = []
  let held: Held | undefined
  try {
    for (const count of RELAYS) {
      const started = await startRelays(nameOf(count), stage.installation(TOLLGATE), count)
      running.push({ ...started, count })
      await warmUp(started.gateway, measuring, count)
    }
    await sleep(IDLE_AFTER_MS)
    addIdle(running, readings)
    const one = stage.gateways.find(({ name }) => name === TOLLGATE)
    if (one !== undefined) {
      await warmUp(one, measuring, 1)
      await measureFree([{ ...one, name: ONE_PROCESS }, ...running.slice(-1).map(({ gateway }) => gateway)], measuring)
    }
    const holding = holdEach(running.flatMap(({ relays }) => relays))
    if ('why' in holding) notes.push(holding.why)
    else {
      held = holding
      await measureHeld(running, measuring)
    }
  } finally {
    held?.release()
    for (const { gateway } of running) await gateway.stop()
  }
  return { notes, rows: judge(ROWS, readings, CONTESTANTS, nameOf(1)), readings, loadBefore }
}

/** The judged table, and the short one that the README has. */
export const relaysText = ({ notes, rows, loadBefore, readings }: PartRun): string =>
  [judgedText(rows, CONTESTANTS), ...notes, `load before it ${loadBefore.toFixed(2)}`, '', overRelays(readings)].join('\n')

function overRelays(readings: Readings): string {
  const cell = (metric: string, count: number): string => {
    const [value, times] = [readings.median(metric, nameOf(count)), readings.median(`${metric}.times`, nameOf(count))]
    return value === undefined || times === undefined ? '' : `${digits(value)} · ${digits(times)} ×`
  }
  const head = ['relays, each a quarter of a core', 'requests a second', 'streams of 50 events a second']
  return tableText(
    head,
    RELAYS.map((count) => [String(count), cell('held.rate', count), cell('held.streams', count)]),
  )
}

const chat = (gateway: Gateway, { generator }: Measuring, connections: number, warmMs: number, windowMs: number): Promise<Seen> =>
  ask(gateway, generator, { plan: IN_ONE_PIECE, connections, rampMs: 0, lags: false, bodyBytes: 0, warmMs, windowMs })

/** Each process compiles for itself, so several need as many times the requests of one: a request of four that are half compiled costs twice what it does later. */
async function warmUp(gateway: Gateway, measuring: Measuring, processes: number): Promise<void> {
  await chat(gateway, measuring, CONNECTIONS, measuring.pace.warmMs * processes, 0)
}

/** What a request costs at as many connections over four relays as at one process. */
async function measureFree(gateways: readonly Gateway[], measuring: Measuring): Promise<void> {
  const { pace, readings, say } = measuring
  for (const gateway of turns(gateways, pace.rounds)) {
    const { cpu, answers } = await chat(gateway, measuring, CONNECTIONS, SETTLE_MS, pace.windowMs)
    readings.add('free.cpu', gateway.name, cpu.all / answers)
    say(`${gateway.name}: a request ${digits(cpu.all / answers)} µs`)
  }
  addTimes('free.cpu', ONE_PROCESS, readings)
}

async function measureHeld(running: readonly Running[], measuring: Measuring): Promise<void> {
  const { pace, readings, say } = measuring
  for (const { gateway, count } of turns(running, pace.rounds)) {
    const { answers, seconds } = await chat(gateway, measuring, CONNECTIONS * count, SETTLE_MS, pace.windowMs)
    readings.add('held.rate', gateway.name, answers / seconds)
    say(`${gateway.name}: ${digits(answers / seconds)} requests a second`)
  }
  addTimes('held.rate', nameOf(1), readings)
  for (const { gateway, count } of running) await streams(gateway, measuring, STREAMS * count, pace.warmMs, 0)
  for (const one of turns(running, pace.rounds)) await measureStreams(one, measuring)
  addTimes('held.streams', nameOf(1), readings)
}

async function measureStreams({ gateway, count }: Running, measuring: Measuring): Promise<void> {
  const { pace, readings, say } = measuring
  for (const share of count === 1 ? [1] : SHARES) {
    const connections = Math.round(STREAMS * count * share)
    const lag = (await streams(gateway, measuring, connections, SETTLE_MS, pace.windowMs)).lag.p99
    say(`${gateway.name}: ${connections} streams, lag ${digits(lag)} µs`)
    const most = count === 1 ? lag : LAG_MOST * (readings.median('held.lag', nameOf(1)) ?? 0)
    if (lag > most) continue
    readings.add('held.streams', gateway.name, connections)
    readings.add('held.lag', gateway.name, lag)
    return
  }
  readings.add('held.streams', gateway.name, 0)
}

function streams(gateway: Gateway, { generator }: Measuring, connections: number, warmMs: number, windowMs: number): Promise<Seen> {
  const plan = outlasting(EVENTS, RAMP_MS + warmMs + windowMs + DRAIN_SPARE_MS)
  return ask(gateway, generator, { plan, connections, rampMs: RAMP_MS, lags: true, bodyBytes: 0, warmMs, windowMs })
}

function addTimes(metric: string, reference: string, readings: Readings): void {
  const one = readings.median(metric, reference)
  for (const name of CONTESTANTS) {
    const value = readings.median(metric, name)
    if (value !== undefined && one !== undefined) readings.add(`${metric}.times`, name, value / one)
  }
}

function addIdle(running: readonly Running[], readings: Readings): void {
  for (const { gateway, relays } of running) {
    const figures = relays.map(ownBytes)
    readings.add('idle.own', gateway.name, median(figures.map(({ own }) => own)) / BYTES_A_MB)
    readings.add('idle.pss', gateway.name, median(figures.map(({ pss }) => pss)) / BYTES_A_MB)
  }
}
