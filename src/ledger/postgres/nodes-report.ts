/** The nodes that write a ledger on Postgres, as its tables know them at one moment, by its clock. Rules: nodes.md "Lanes and leases". */

import { picos } from '../../core/money.ts'
import { differencesAmong, type FactDifference } from '../../core/node-facts.ts'
import type { NodeReport, NodeState } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import { FACTS, readFacts } from './peers.ts'

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
