/**
 * Simulated worlds: the whole ledger under random loads, deaths, failing storage, budgets by window and clocks that step over their edges, held against an auditor's own books after every step. `SIM_SEEDS` says how many
 * worlds, `TEST_SEED` from which seed on; `bun run sim --seeds N --seed S` runs any; those on Postgres are simulation-postgres.test.ts. Rules: money.md "Settle", "Budgets", "Crashes"; ledger.md "Twice is once", "Spill",
 * "Attempts", "Chain".
 */

import { expect, test } from 'bun:test'
import { SEED } from '../support/seed.ts'
import { simulate } from './simulate.ts'

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 25)

/** Each of these must have happened, or nothing was proved. */
const MET = [
  'a hold is held',
  'a hold is exhausted',
  'a hold is reserved',
  'a hold is disabled',
  'a hold is expired',
  'a hold is until',
  'a budget of a key by operator',
  'a budget of an account by customer',
  'a clock steps back',
  'a clock steps ahead',
  'a settle is settled',
  'a settle is already',
  'a settle is unavailable',
  'a code is redeemed',
  'an act is done',
  'an act is unavailable',
  'an answer is swallowed',
  'a request is recovered',
  'a thread dies',
  'a crash',
  'a power loss',
  'what was not flushed is lost',
  'a close',
  'the storage is full',
  'the storage is broken',
  'the storage is late',
]

test(
  'no world loses or invents a picodollar, and none spends more of a window than its cap and one request',
  async () => {
    const { finding, met } = await simulate(SEED, SEEDS)
    if (finding !== undefined) {
      const story = finding.log.slice(-40).join('\n')
      throw new Error(`${finding.text}\nseed ${finding.seed}: bun run sim --seeds 1 --seed ${finding.seed}\n${story}`)
    }
    if (SEEDS >= 50) expect(MET.filter((what) => !met.has(what))).toEqual([])
  },
  30_000 + SEEDS * 5_000,
)
