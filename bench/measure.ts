/** Contestants that take turns in one process, so that a noisy machine hits all of them alike. Figures of two runs do not compare; their ratios do. */

import { median } from './statistics.ts'

export type Contestant = Readonly<{ name: string; run: () => number | Promise<number> }>

/** Nanoseconds that have passed (`wall`), or that this process has computed on all its threads (`cpu`). */
const CLOCKS = {
  wall: () => performance.now() * 1e6,
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) * 1e3
  },
}

type Clock = keyof typeof CLOCKS

/** The best time of each contestant, in nanoseconds a unit, since noise only adds time. `run` gives the number of units that it did. */
export const bestOf = (contestants: readonly Contestant[], rounds: number, clock: Clock = 'wall') =>
  figuresOf(contestants, rounds, clock, (all) => Math.min(...all))

/** The median time of each contestant, where rounds differ in their work: as a file grows, the best round is only the one in which no further work was due. */
export const medianOf = (contestants: readonly Contestant[], rounds: number, clock: Clock = 'wall') =>
  figuresOf(contestants, rounds, clock, median)

async function figuresOf(
  contestants: readonly Contestant[],
  rounds: number,
  clock: Clock,
  figureOf: (all: readonly number[]) => number,
): Promise<ReadonlyMap<string, number>> {
  const now = CLOCKS[clock]
  const all = new Map<string, number[]>()
  for (let round = -2; round < rounds; round++) {
    for (const { name, run } of contestants) {
      const start = now()
      const units = await run()
      const ns = (now() - start) / units
      if (!(units > 0)) throw new Error(`${name} did nothing`)
      if (round >= 0) all.set(name, [...(all.get(name) ?? []), ns])
    }
  }
  return new Map([...all].map(([name, figures]) => [name, figureOf(figures)]))
}

/** Prints a line for each contestant: its time a unit, and how this compares with the reference. */
export function print(best: ReadonlyMap<string, number>, unit: string, reference: string): void {
  const base = best.get(reference) ?? Number.NaN
  for (const [name, ns] of best) {
    const time = ns < 10_000 ? `${Math.round(ns)} ns` : `${(ns / 1000).toFixed(1)} µs`
    console.log(
      `${name.padEnd(44)}${`${time}/${unit}`.padStart(20)}  ${ns <= base ? `${(base / ns).toFixed(1)}x as fast as` : `${(ns / base).toFixed(1)}x as long as`}: ${reference}`,
    )
  }
}
