/** The files that a run writes: every figure of every turn as JSON, with a description of the machine, and the picture. */

import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Judged } from './judge.ts'
import type { Readings } from './readings.ts'

const FOLDER = join(import.meta.dir, 'results')

/** The machine and the programs on which the figures depend. */
export function machineText(): string {
  const [cpu] = cpus()
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Bun ${Bun.version}`
}

/** The figures of several processes on one ledger, on Postgres or as relays, each of which have a table of their own. `notes`: what a reader of the figures must know. */
export type PartRun = Readonly<{ notes: readonly string[]; rows: readonly Judged[]; readings: Readings; loadBefore: number }>

export type Run = Readonly<{
  /** `2026-11-22`. */
  date: string
  contestants: Readonly<Record<string, string>>
  notes: readonly string[]
  rows: readonly Judged[]
  readings: Readings
  /** The load of the machine when the run began; above 0.5 other programs were at work. */
  loadBefore: number
}>

/** Writes the figures; gives the file's path. */
export async function writeResults(run: Run): Promise<string> {
  const json = join(FOLDER, `${run.date}.json`)
  const { date, contestants, notes, rows, readings, loadBefore } = run
  const document = {
    date,
    ...measuredOn(loadBefore),
    contestants,
    notes,
    rows,
    readings: readings.figures(),
  }
  await Bun.write(json, `${JSON.stringify(document, null, 2)}\n`)
  return json
}

/** Adds the figures of a part to the file of a run of that date; gives its path. */
export async function joinPart(date: string, name: string, part: PartRun): Promise<string> {
  const json = join(FOLDER, `${date}.json`)
  const file = Bun.file(json)
  const document = (await file.exists()) ? ((await file.json()) as object) : { date }
  await Bun.write(json, `${JSON.stringify({ ...document, [name]: partDocument(part) }, null, 2)}\n`)
  return json
}

/** Writes a picture of that name; gives its path. */
export async function writePicture(name: string, svg: string): Promise<string> {
  const image = join(FOLDER, name)
  await Bun.write(image, svg)
  return image
}

const partDocument = ({ notes, rows, readings, loadBefore }: PartRun): object => ({
  ...measuredOn(loadBefore),
  notes,
  rows,
  readings: readings.figures(),
})

const measuredOn = (loadBefore: number): object => ({
  commit: Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: import.meta.dir })
    .stdout.toString()
    .trim(),
  machine: machineText(),
  load_before: loadBefore,
})

/** The average load of the machine in the last minute. */
export const loadNow = (): number => loadavg()[0] ?? 0
