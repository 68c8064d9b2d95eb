/** Simulated worlds one after the other, each from a seed of its own, until one of them finds something. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Finding } from './books.ts'
import { FileGround } from './file-ground.ts'
import type { Around, Ground } from './ground.ts'
import { Simulation } from './simulation.ts'

/** `finding`: with its seed and how it came to it; undefined where nothing was found. `met`: how often each thing happened. */
export type Simulated = Readonly<{
  finding: Readonly<{ seed: number; text: string; log: readonly string[] }> | undefined
  met: ReadonlyMap<string, number>
}>

type MakeGround = (folder: string, around: Around) => Ground
/** What worlds of one kind stand on; a new one each. */
export type GroundFor = () => Promise<MakeGround>

const ON_FILES: GroundFor = () => Promise.resolve((folder, { now }) => new FileGround(folder, now))

export async function simulate(first: number, count: number, groundFor = ON_FILES): Promise<Simulated> {
  const met = new Map<string, number>()
  for (let seed = first; seed < first + count; seed++) {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-sim-'))
    const makeGround = await groundFor()
    const simulation = new Simulation(seed, (around) => makeGround(folder, around))
    try {
      await simulation.run()
    } catch (error) {
      return { finding: { seed, text: textOf(error), log: simulation.log }, met }
    } finally {
      for (const [what, count] of simulation.met) met.set(what, (met.get(what) ?? 0) + count)
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return { finding: undefined, met }
}

/** A broken invariant by its name; what was thrown elsewhere with its places. */
function textOf(error: unknown): string {
  if (error instanceof Finding) return error.message
  return error instanceof Error ? `${error.message}\n${error.stack}` : String(error)
}
