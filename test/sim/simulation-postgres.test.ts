/**
 * The simulated worlds on Postgres: connections are refused, lost in a transaction or before an answer, and nodes are fenced, with leases as in a gateway.
 * `SIM_POSTGRES_SEEDS` says how many worlds, `TEST_SEED` from which seed on, else the first ones; `bun run sim --postgres --seeds N --seed S` runs any. Rules: ledger.md "Settles on
 * Postgres", "Leases"; nodes.md "Fencing".
 */

import { expect } from 'bun:test'
import { postgresTest } from '../support/postgres.ts'
import { ASKED_SEED } from '../support/seed.ts'
import { ON_POSTGRES } from './on-postgres.ts'
import { simulate } from './simulate.ts'

const SEEDS = Number(process.env['SIM_POSTGRES_SEEDS'] ?? 2)
const ENOUGH = 10
/** The same ones each time: they cost seconds each, so few are lived through in a run. */
const FIRST = ASKED_SEED ?? 1

/** Each of these must have happened, or nothing was proved. */
const MET = [
  'a hold is held',
  'a hold is exhausted',
  'a hold is until',
  'a clock steps back',
  'a clock steps ahead',
  'a settle is settled',
  'a settle is unavailable',
  'an act is unavailable',
  'a write is indeterminate',
  'a node is fenced',
  'a settle is waived',
  'a request is recovered',
  'a thread dies',
  'a crash',
  'a close',
  'the storage is full',
  'the storage is broken',
  'the storage is late',
  'the storage is lost',
  'the storage is held',
]

async function live(first: number, count: number): Promise<ReadonlyMap<string, number>> {
  const { finding, met } = await simulate(first, count, ON_POSTGRES)
  if (finding === undefined) return met
  const story = finding.log.slice(-40).join('\n')
  throw new Error(`${finding.text}\nseed ${finding.seed}: bun run sim --postgres --seeds 1 --seed ${finding.seed}\n${story}`)
}

postgresTest(
  'no world on Postgres loses or invents a picodollar, and none spends more of a window than its cap and one request',
  async () => {
    const met = await live(FIRST, SEEDS)
    if (SEEDS >= ENOUGH) expect(MET.filter((what) => !met.has(what))).toEqual([])
  },
  30_000 + SEEDS * 20_000,
)
