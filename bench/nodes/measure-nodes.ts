/**
 * Several processes on one ledger: what Postgres does with one, two and four of them, beside SQLite with its one; the ledger alone, and whole gateways. The server
 * is that of the tests, with its data on the same disk as SQLite's file. Where the server cannot start, nothing is measured, and a note says so.
 */

import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Postgres, startPostgres } from '../../test/support/postgres-server.ts'
import { flushesUs } from '../flush.ts'
import { judge, judgedText } from '../judge.ts'
import type { Gateway } from '../load/gateways.ts'
import { LOADS } from '../load/loads.ts'
import { LoadRunner, type Pace, type Say } from '../load/run-loads.ts'
import type { Stage } from '../load/stage.ts'
import { type Installation, startTollgate, verify } from '../load/tollgate.ts'
import { NONE, Readings, TOLLGATE } from '../readings.ts'
import { loadNow, type PartRun } from '../results.ts'
import { median } from '../statistics.ts'
import { digits } from '../units.ts'
import { ROWS } from './rows.ts'
import { type Cast, measureSpends, type SpendPace } from './spends.ts'

export type NodesPace = Readonly<{ spends: SpendPace; loads: Pace }>

export const NODES_FULL: NodesPace = {
  spends: { rounds: 3, warmMs: 2_000, windowMs: 4_000 },
  loads: { rounds: 3, firstWarmMs: 3_000, stretch: 1 },
}
export const NODES_QUICK: NodesPace = {
  spends: { rounds: 1, warmMs: 800, windowMs: 1_500 },
  loads: { rounds: 1, firstWarmMs: 1_000, stretch: 0.5 },
}

const PROCESSES = [1, 2, 4] as const
const SQLITE = 'SQLite'
const REFERENCE = 'R'
const FLUSHES = 200
/** A few settings that every operator of a Postgres makes. */
const SETTINGS = ['shared_buffers=256MB', 'max_wal_size=4GB', 'autovacuum=on']

const nameOf = (processes: number): string => `Postgres × ${processes}`
const CASTS = [SQLITE, ...PROCESSES.map(nameOf)]

export async function measureNodes(stage: Stage, pace: NodesPace, say: Say): Promise<PartRun> {
  const loadBefore = loadNow()
  const readings = new Readings()
  const flushUs = median(flushesUs(stage.folder, FLUSHES))
  readings.add('flush', NONE, flushUs)
  const notes = [
    `ledger files and Postgres' data are on one disk, whose flush takes ${digits(flushUs)} µs; fsync and synchronous_commit are on, and all processes share the machine`,
    'R is a bare Bun proxy; added is what lies between a client and the upstream less R’s; met is judged by the best of the Postgres columns',
  ]
  const server = await startPostgres(join(tmpdir(), `tollgate-bench-postgres-${process.pid}`), SETTINGS)
  try {
    await measureSpends(await makeCasts(server, stage), server, pace.spends, readings, say)
    await measureGateways(server, stage, pace.loads, readings, say)
  } finally {
    await server.stop('immediate')
  }
  const rows = judge(ROWS, readings, [REFERENCE, ...CASTS], best(readings))
  return { notes, rows, readings, loadBefore }
}

export const nodesText = ({ notes, rows, loadBefore }: PartRun): string =>
  [judgedText(rows, [REFERENCE, ...CASTS]), ...notes, `load before it ${loadBefore.toFixed(2)}`].join('\n')

function makeCasts(server: Postgres, { folder }: Stage): Promise<readonly Cast[]> {
  const cast = async (name: string, processes: number): Promise<Cast> => {
    const folders = Array.from({ length: processes }, (_, index) => join(folder, `ledger-${processes}-${index}-of-${name.slice(0, 3)}`))
    for (const made of folders) mkdirSync(made, { recursive: true })
    return { name, folders, url: name === SQLITE ? undefined : await server.createDatabase() }
  }
  return Promise.all([cast(SQLITE, 1), ...PROCESSES.map((processes) => cast(nameOf(processes), processes))])
}

async function measureGateways(server: Postgres, stage: Stage, pace: Pace, readings: Readings, say: Say): Promise<void> {
  const installed: Installation[] = []
  const shared: Gateway[] = []
  try {
    for (const processes of PROCESSES) {
      const installation = stage.sharedInstallation(await server.createDatabase(), processes)
      installed.push(installation)
      shared.push(await startTollgate(nameOf(processes), installation))
    }
    const others = stage.gateways.flatMap((one) => {
      if (one.name === REFERENCE) return [one]
      return one.name === TOLLGATE ? [{ ...one, name: SQLITE }] : []
    })
    const runner = new LoadRunner(stage.generators[0], pace, readings, say)
    for (const load of LOADS.filter(({ name }) => name === 'chat' || name === 'one')) await runner.run(load, [...others, ...shared])
    installed.forEach(verify)
  } finally {
    await Promise.all(shared.map(({ stop }) => stop()))
  }
}

function best(readings: Readings): string {
  const rate = (name: string): number => readings.median('spend.1.rate', name) ?? 0
  return PROCESSES.map(nameOf).toSorted((a, b) => rate(b) - rate(a))[0] ?? ''
}
