/** What one client does to the others: how late the events of 100 streams are while another process sends bodies of 30 MB, one after the other. */

import type { Readings } from '../readings.ts'
import { turns } from '../statistics.ts'
import type { Gateway } from './gateways.ts'
import type { Generator } from './processes.ts'
import { run } from './run-loads.ts'
import { IN_ONE_PIECE } from './wire.ts'

const BODY_BYTES = 30_000_000
const STREAMS = { connections: 100, rampMs: 500, lags: true, bodyBytes: 0 }
const BODIES = { plan: IN_ONE_PIECE, connections: 1, rampMs: 0, lags: false, bodyBytes: BODY_BYTES }
const EVERY_MS = 20
const WARM_MS = 1_500
const WINDOW_MS = 4_000

export async function measureBeside(
  gateways: readonly Gateway[],
  generators: readonly [Generator, Generator],
  rounds: number,
  readings: Readings,
): Promise<void> {
  const [first, second] = generators
  const events = (STREAMS.rampMs + WARM_MS + WINDOW_MS + 500) / EVERY_MS
  for (const gateway of turns(gateways, rounds)) {
    const [streams, bodies] = await Promise.all([
      run(gateway, first, { ...STREAMS, plan: { events, perWrite: 1, everyMs: EVERY_MS }, warmMs: WARM_MS, windowMs: WINDOW_MS }),
      run(gateway, second, { ...BODIES, warmMs: STREAMS.rampMs, windowMs: WARM_MS + WINDOW_MS }),
    ])
    await gateway.audit(streams.total.answers + bodies.total.answers)
    readings.add('beside.p99', gateway.name, streams.lag.p99)
    readings.add('beside.bodies', gateway.name, bodies.answers / bodies.seconds)
  }
}
