/** What a run leaves behind: every figure of every turn as JSON, with the machine that it was measured on, and the picture. */

import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Judged } from './judge.ts'
import type { Readings } from './readings.ts'

const FOLDER = join(import.meta.dir, 'results')

/** What the figures depend on. */
export function machineText(): string {
  const [cpu] = cpus()
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Bun ${Bun.version}`
}

export type Run = Readonly<{
  /** `2026-11-22`. */
  date: string
  contestants: Readonly<Record<string, string>>
  notes: readonly string[]
  rows: readonly Judged[]
  readings: Readings
  /** Of the machine when the run began: above 0.5 others were at work. */
  loadBefore: number
}>

/** The paths that were written. */
export async function writeResults(run: Run, svg: string): Promise<readonly [json: string, svg: string]> {
  const [json, image] = [join(FOLDER, `${run.date}.json`), join(FOLDER, 'speed.svg')]
  const commit = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: FOLDER.replace(/results$/, '') })
    .stdout.toString()
    .trim()
  const { date, contestants, notes, rows, readings, loadBefore } = run
  const document = { date, commit, machine: machineText(), load_before: loadBefore, contestants, notes, rows, readings: readings.figures() }
  await Bun.write(json, `${JSON.stringify(document, null, 2)}\n`)
  await Bun.write(image, svg)
  return [json, image]
}

/** Average of the last minute. */
export const loadNow = (): number => loadavg()[0] ?? 0
