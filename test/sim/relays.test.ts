/**
 * Simulated worlds of relays and a ledger process that die or stand still at any step, with spills that fail, losses of power, and clocks that step over the edges of windows,
 * and with clients that repeat their requests at other relays. `SIM_RELAY_SEEDS` says how many, `TEST_SEED` from which seed on. Rules: processes.md "Admission", "Shared", "Death"; money.md
 * "Budgets"; requests.md "Repeated requests", "Joined answers".
 */

import { expect, test } from 'bun:test'
import { SEED } from '../support/seed.ts'
import { simulateRelays } from './relay-world.ts'

const SEEDS = Number(process.env['SIM_RELAY_SEEDS'] ?? 25)

/** Each of these must have happened, or nothing was proved: each is met in more than a third of the worlds. */
const MET = [
  'a hold is held',
  'a hold is reserved',
  'a hold is unavailable',
  'a settle is settled',
  'a claim is claimed',
  'a claim is running',
  'a claim is unavailable',
  'a wire is cut',
  'a relay dies',
  'the ledger process dies',
  ...['an upstream is called', 'a client leaves', 'an answer in one piece is given', 'a finished answer is given again'],
  ...['a repetition follows a stream at another relay', 'a stream that is followed at another relay is whole'],
  'a repetition gets the error of the first request',
]

/** And these, which fewer worlds meet, in as many as CI has. */
const MET_IN_MANY = [
  ...['the storage is full', 'the storage is late', 'a relay stands still', 'a relay is fenced', 'a relay keeps ends'],
  ...['the ledger process stands still', 'a spill fails', 'a hold is exhausted', 'the power goes', 'a relay comes late'],
  ...['a clock steps back', 'a clock steps ahead'],
  ...['an upstream refuses', 'an upstream breaks off', 'a relay dies whose clients follow another one'],
]

test(
  'whatever dies, no relay spends more than there is and one request, every end that was acknowledged is booked once, and a repetition at any relay gets the first answer and is not charged',
  async () => {
    const { finding, met } = await simulateRelays(SEED, SEEDS)
    if (finding !== undefined) throw new Error(`${finding.text}\nseed ${finding.seed}\n${finding.log.slice(-40).join('\n')}`)
    if (SEEDS >= 25) expect(MET.filter((what) => !met.has(what))).toEqual([])
    if (SEEDS >= 100) expect(MET_IN_MANY.filter((what) => !met.has(what))).toEqual([])
  },
  60_000 + SEEDS * 5_000,
)
