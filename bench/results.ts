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

/** The figures of several processes on one ledger, which have a table of their own. `notes`: what a reader of the figures must know. */
export type NodesRun = Readonly<{ notes: readonly string[]; rows: readonly Judged[]; readings: Readings; loadBefore: number }>

export type Run = Readonly<{
  /** `2026-11-22`. */
  date: string
  contestants: Readonly<Record<string, string>>
  notes: readonly string[]
  rows: readonly Judged[]
  readings: Readings
  nodes: NodesRun | undefined
  /** The load of the machine when the run began; above 0.5 other programs were at work. */
  loadBefore: number
}>

/** Writes both files; gives their paths. */
export async function writeResults(run: Run, svg: string): Promise<readonly [json: string, svg: string]> {
  const [json, image] = [join(FOLDER, `${run.date}.json`), join(FOLDER, 'speed.svg')]
  const { date, contestants, notes, rows, readings, loadBefore, nodes } = run
  const document = {
    date,
    ...measuredOn(loadBefore),
    contestants,
    notes,
    rows,
    readings: readings.figures(),
    ...(nodes === undefined ? {} : { nodes: nodesDocument(nodes) }),
  }
  await Bun.write(json, `${JSON.stringify(document, null, 2)}\n`)
  await Bun.write(image, svg)
  return [json, image]
}

/** Adds the figures to the file of a run of that date; gives its path. */
export async function joinNodes(date: string, nodes: NodesRun): Promise<string> {
  const json = join(FOLDER, `${date}.json`)
  const file = Bun.file(json)
  const document = (await file.exists()) ? ((await file.json()) as object) : { date }
  await Bun.write(json, `${JSON.stringify({ ...document, nodes: nodesDocument(nodes) }, null, 2)}\n`)
  return json
}

const nodesDocument = ({ notes, rows, readings, loadBefore }: NodesRun): object => ({
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
