/** Loads in turn over gateways in turn (A B B A), into readings. A turn that fails, or whose sums do not agree with the ledger's, ends the run. */

import { NONE, type Readings } from '../readings.ts'
import { turns } from '../statistics.ts'
import { digits } from '../units.ts'
import type { Gateway } from './gateways.ts'
import type { Job, Seen } from './generator.ts'
import { type Load, outlasting } from './loads.ts'
import type { Generator } from './processes.ts'

/** How many turns there are, and how long. `QUICK` is for a look while developing. */
export type Pace = Readonly<{ rounds: number; firstWarmMs: number; stretch: number }>

export const FULL: Pace = { rounds: 2, firstWarmMs: 4_000, stretch: 0.6 }
export const QUICK: Pace = { rounds: 2, firstWarmMs: 3_000, stretch: 0.3 }

const DRAIN_MS = 60_000
/** How long a stream goes on after the window. */
const SPARE_MS = 300

export type Say = (line: string) => void

/** Runs loads, and remembers which gateways are warm for which kind of answers. */
export class LoadRunner {
  readonly #generator: Generator
  readonly #pace: Pace
  readonly #readings: Readings
  readonly #say: Say
  readonly #warm = new Set<string>()

  constructor(generator: Generator, pace: Pace, readings: Readings, say: Say) {
    this.#generator = generator
    this.#pace = pace
    this.#readings = readings
    this.#say = say
  }

  async run(load: Load, gateways: readonly Gateway[]): Promise<void> {
    const inTurn = gateways.filter((gateway) => hasTurn(load, gateway))
    for (const gateway of inTurn) await this.#warmUp(load, gateway)
    for (const gateway of turns(inTurn, this.#pace.rounds)) {
      const metrics = load.metricsOf(await turn(load, gateway, this.#generator, load.settleMs, load.windowMs * this.#pace.stretch))
      // A turn of a busy machine may end without any answer; then there is no figure to add.
      for (const [metric, figure] of Object.entries(metrics)) if (Number.isFinite(figure)) this.#readings.add(metric, gateway.name, figure)
      this.#say(
        `${gateway.name}: ${Object.entries(metrics)
          .map(([metric, figure]) => `${metric} ${digits(figure)}`)
          .join(', ')}`,
      )
    }
  }

  async #warmUp(load: Load, gateway: Gateway): Promise<void> {
    const what = `${gateway.name} ${load.kind}`
    if (this.#warm.has(what)) return
    this.#warm.add(what)
    await turn(load, gateway, this.#generator, gateway.name === NONE ? 500 : this.#pace.firstWarmMs, 0)
  }
}

function hasTurn({ isCpu, connectionsOfSlow }: Load, { name, isSlow, pids }: Gateway): boolean {
  if (isSlow && connectionsOfSlow === undefined) return false
  return !isCpu || (name !== NONE && pids().length > 0)
}

async function turn(
  { shape, connectionsOfSlow }: Load,
  gateway: Gateway,
  generator: Generator,
  warmMs: number,
  windowMs: number,
): Promise<Seen> {
  const connections = gateway.isSlow ? (connectionsOfSlow ?? shape.connections) : shape.connections
  const plan = outlasting(shape.plan, shape.rampMs + warmMs + windowMs + SPARE_MS)
  return await ask(gateway, generator, { ...shape, plan, connections, bodyBytes: 0, warmMs, windowMs })
}

type Asked = Omit<Job, 'target' | 'watch' | 'drainMs'>

/** Runs one job; throws unless all its answers were right and its sums agree with the ledger's. */
export async function ask(gateway: Gateway, generator: Generator, job: Asked): Promise<Seen> {
  const seen = await run(gateway, generator, job)
  await gateway.audit(seen.total.answers)
  return seen
}

/** Runs one job; throws unless all its answers were right. */
export async function run(gateway: Gateway, generator: Generator, job: Asked): Promise<Seen> {
  const seen = await generator.run({ ...job, target: gateway.target, watch: gateway.pids(), drainMs: DRAIN_MS })
  if (seen.failures > 0) throw new Error(`${gateway.name}: ${seen.failures} answers were wrong; the first: ${seen.failure}`)
  return seen
}
