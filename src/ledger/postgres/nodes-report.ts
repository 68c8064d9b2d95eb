/** The nodes that write a ledger on Postgres, as its tables know them at one moment, by its clock. Rules: nodes.md "Lanes and leases". */

import { type Picos, picos } from '../../core/money.ts'
import { differencesAmong, type FactDifference, type NodeFacts } from '../../core/node-facts.ts'
import type { Connection } from '../sql/connection.ts'
import { FACTS, readFacts } from './peers.ts'

/**
 * `running`: heard of within half a term. `silent`: not, so it admits nothing, and may come back. `lost`: its lease is over; the next node that looks takes over
 * what it had in flight. `free`: it ended, or that was done.
 */
export type NodeState = 'running' | 'silent' | 'lost' | 'free'

export type NodeReport = Readonly<{
  lane: number
  /** Of the last one in this lane, where it is free. */
  name: string
  state: NodeState
  /** Unix milliseconds, as the next ones. */
  startedAt: number
  beatAt: number
  /** Undefined: the lane is free. */
  leaseUntil: number | undefined
  /** Of all accounts. */
  leasedPicos: Picos
  /** In flight for more than a second. */
  requestCount: number
  /** What it runs with, as far as it has said. */
  facts: NodeFacts
}>

type Row = Readonly<{
  lane: bigint
  name: string
  startedAt: bigint
  beatAt: bigint
  leaseUntil: bigint
  now: bigint
  leasedPicos: bigint
  requestCount: bigint
  facts: string
}>

/** One moment for all of them, so that no clock runs between two rows. */
const NODES = `
  SELECT lane, name, nodes.started_at AS "startedAt", beat_at AS "beatAt", lease_until AS "leaseUntil", clock.now AS "now",
    (SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) FROM leases WHERE leases.lane = nodes.lane) AS "leasedPicos",
    (SELECT count(*) FROM marks WHERE marks.boot_number = nodes.boot_number) AS "requestCount", ${FACTS} AS facts
  FROM (SELECT clock_ms() AS now) AS clock, nodes JOIN boots ON boots.number = boot_number ORDER BY lane`

/** By lane. */
export const nodesOf = (db: Connection): readonly NodeReport[] =>
  db
    .query<Row, []>(NODES)
    .all()
    .map(({ lane, name, startedAt, beatAt, leaseUntil, now, leasedPicos, requestCount, facts }) => ({
      lane: Number(lane),
      name,
      state: stateOf(Number(beatAt), Number(leaseUntil), Number(now)),
      startedAt: Number(startedAt),
      beatAt: Number(beatAt),
      leaseUntil: leaseUntil === 0n ? undefined : Number(leaseUntil),
      leasedPicos: picos(leasedPicos),
      requestCount: Number(requestCount),
      facts: readFacts(facts),
    }))

/** In what those differ that may come to admit: a free lane keeps what the last one in it said. */
export const differencesOf = (nodes: readonly NodeReport[]): readonly FactDifference[] =>
  differencesAmong(nodes.filter(({ state }) => state === 'running' || state === 'silent'))

/** A renewal writes both times at once, so what is between them is the term. */
function stateOf(beatAt: number, leaseUntil: number, now: number): NodeState {
  if (leaseUntil === 0) return 'free'
  if (leaseUntil < now) return 'lost'
  return now - beatAt < (leaseUntil - beatAt) / 2 ? 'running' : 'silent'
}
