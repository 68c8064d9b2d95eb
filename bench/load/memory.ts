/** The memory of a gateway: warm and idle, with thousands of streams open, and some seconds after their end. Each gateway is a new process for this. */

import { sleep } from '../clock.ts'
import type { Readings } from '../readings.ts'
import { residentBytes } from './cpu.ts'
import type { Gateway } from './gateways.ts'
import { type Load, outlasting } from './loads.ts'
import type { Generator } from './processes.ts'
import { ask } from './run-loads.ts'
import type { Stage } from './stage.ts'
import { IN_ONE_PIECE, type Plan } from './wire.ts'

const STREAMS = 5_000
/** The time over which connections begin: slowly enough for the machine's queue of new connections. */
const RAMP_MS = 6_000
const OPEN_MS = 3_000
const AFTER_MS = 8_000
const PACE: Plan = { events: Number.POSITIVE_INFINITY, perWrite: 1, everyMs: 500 }
const WARM_UP: Pick<Load, 'shape'>['shape'] = { plan: IN_ONE_PIECE, connections: 16, rampMs: 0, lags: false }
const BYTES_A_MB = 1e6
/** The files that a process opens for itself, besides two for each stream. */
const SPARE_FILES = 500

/** The number of streams for which one process may open enough files, at most 5,000. */
export const streamsFor = (openFilesMax: number): number => Math.min(STREAMS, Math.floor((openFilesMax - SPARE_FILES) / 2))

export async function measureMemory(stage: Stage, names: readonly string[], openFilesMax: number, readings: Readings): Promise<void> {
  for (const name of names) {
    const gateway = await stage.another(name)
    if (gateway === undefined) continue
    await measure(gateway, stage.generators[0], streamsFor(openFilesMax), readings)
    await gateway.stop()
  }
}

async function measure(gateway: Gateway, generator: Generator, connections: number, readings: Readings): Promise<void> {
  const resident = (): number => residentBytes(gateway.pids()) / BYTES_A_MB
  await ask(gateway, generator, { ...WARM_UP, bodyBytes: 0, warmMs: 0, windowMs: 2_000 })
  await sleep(2_000)
  readings.add('memory.idle', gateway.name, resident())
  const plan = outlasting(PACE, RAMP_MS + OPEN_MS + PACE.everyMs)
  const open = await ask(gateway, generator, {
    plan,
    connections,
    rampMs: RAMP_MS,
    lags: false,
    bodyBytes: 0,
    warmMs: OPEN_MS - 500,
    windowMs: 500,
  })
  readings.add('memory.open', gateway.name, open.residentBytes / BYTES_A_MB)
  await sleep(AFTER_MS)
  readings.add('memory.after', gateway.name, resident())
}
