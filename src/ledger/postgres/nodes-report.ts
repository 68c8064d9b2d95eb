/** The nodes that write a ledger on Postgres, as its tables know them at one moment, by its clock. Rules: nodes.md "Lanes and leases". */

import { type Picos, picos } from '../../core/money.ts'
import { differencesAmong, type FactDifference, type NodeFacts } from '../../core/node-facts.ts'
import type { Connection } from '../sql/connection.ts'
import { FACTS, readFacts } from './peers.ts'

/**
 * `running`: the node renewed within the last half term. `silent`: it did not, so it admits nothing, and may come back. `lost`: its lease is over, and the next node that
 * looks takes over its requests in flight. `free`: the node ended, or was taken over.
 */
export type NodeState = 'running' | 'silent' | 'lost' | 'free'

export type NodeReport = Readonly<{
  lane: number
  /** The name of the node; if the lane is free, of the last node in it. */
  name: string
  state: NodeState
  /** Unix milliseconds, like `beatAt` and `leaseUntil`. */
  startedAt: number
  beatAt: number
  /** Undefined: the lane is free. */
  leaseUntil: number | undefined
  /** The sum of its leases over all accounts. */
  leasedPicos: Picos
  /** How many of its requests have been in flight for more than a second. */
  requestCount: number
  /** The facts that the node runs with, as far as it has told them. */
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

/** The clock is read once for all rows, so that all are compared with the same moment. */
const NODES = `
  SELECT lane, name, nodes.started_at AS "startedAt", beat_at AS "beatAt", lease_until AS "leaseUntil", clock.now AS "now",
    (SELECT CAST(coalesce(sum(amount_picos), 0) AS BIGINT) FROM leases WHERE leases.lane = nodes.lane) AS "leasedPicos",
    (SELECT count(*) FROM marks WHERE marks.boot_number = nodes.boot_number) AS "requestCount", ${FACTS} AS facts
  FROM (SELECT clock_ms() AS now) AS clock, nodes JOIN boots ON boots.number = boot_number ORDER BY lane`

/** All nodes, in the order of their lanes. */
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

/** The differences among running and silent nodes, which admit or may admit again. Free lanes are left out: they keep the facts of their last node. */
export const differencesOf = (nodes: readonly NodeReport[]): readonly FactDifference[] =>
  differencesAmong(nodes.filter(({ state }) => state === 'running' || state === 'silent'))

/** A renewal writes `beatAt` and `leaseUntil` at once, so their difference is the term. */
function stateOf(beatAt: number, leaseUntil: number, now: number): NodeState {
  if (leaseUntil === 0) return 'free'
  if (leaseUntil < now) return 'lost'
  return now - beatAt < (leaseUntil - beatAt) / 2 ? 'running' : 'silent'
}
