/** Metrics that are read from the running gateway at a scrape, not counted as events happen. Rules: operator.md "Metrics". */

import { stat } from 'node:fs/promises'
import { answersPathOf } from './answers/kept-answers.ts'
import { sumPicos, toUsd } from './core/money.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Shared } from './ledger/open-options.ts'
import type { Metrics } from './observe/metrics.ts'
import type { BodyMemory } from './relay/body-memory.ts'
import type { UpstreamReport } from './upstream/member.ts'
import type { UpstreamPool } from './upstream/pool.ts'
import type { World } from './world.ts'

/** `recovered`: requests of a dead process that this one found. */
export type GaugedParts = Readonly<{
  world: World
  /** Undefined: the process answers no clients. */
  bodies: BodyMemory | undefined
  pool: UpstreamPool
  recovered: number
  ledgerPath: string
  /** Undefined: this process has the ledger's file. `claims` is there for a relay of that process alone. */
  shared: Shared | undefined
}>

export function registerGauges({ world: { metrics, ledger }, bodies, pool, recovered, ledgerPath, shared }: GaugedParts): void {
  metrics.gauge('tollgate_ledger_writable', 'Whether the ledger can commit.', () => (ledger.isWritable() ? 1 : 0))
  metrics.gauge('tollgate_holds', 'Requests for which money is reserved.', () => ledger.holds().length)
  metrics.gauge('tollgate_held_usd', 'Reserved for them.', () => heldUsd(ledger))
  if (bodies !== undefined) metrics.gauge('tollgate_body_bytes', 'Bodies and whole answers in memory.', () => bodies.bytes)
  metrics.gauge('tollgate_recovered', 'Requests of a dead process that were waived when this one started.', () => recovered)
  if (shared === undefined) registerFileGauges(metrics, ledgerPath)
  else if (shared.claims === undefined) registerNodeGauges(metrics, shared)
  registerPoolGauges(metrics, pool)
}

/** Sizes of files are told by the one process that has them open, since a monitor adds up the processes. */
function registerFileGauges({ gauge }: Metrics, ledgerPath: string): void {
  gauge('tollgate_ledger_wal_bytes', 'The write-ahead log beside the ledger.', () => walBytes(ledgerPath))
  gauge('tollgate_kept_answers_bytes', 'The file of finished answers beside the ledger.', () => sizeOf(answersPathOf(ledgerPath)))
}

function registerNodeGauges({ gauge, gauges }: Metrics, shared: Shared): void {
  gauge('tollgate_node_clock_skew_seconds', 'The clock of Postgres less that of this machine.', () => shared.skewMs() / 1000)
  gauges('tollgate_nodes_differ', 'How many values the nodes of this ledger have of what should be one.', ['what'], () =>
    shared.differences().map(({ what, values }) => [[what], values.length] as const),
  )
  gauge('tollgate_node_fences', 'How often this process lost its lane to another.', () => shared.fences())
}

function registerPoolGauges({ gauges }: Metrics, pool: UpstreamPool): void {
  const read = (value: (report: UpstreamReport) => number) => () => pool.reports().map((report) => [[report.name], value(report)] as const)
  gauges(
    'tollgate_upstream_in_flight',
    'Calls that run.',
    ['upstream'],
    read(({ running }) => running),
  )
  gauges(
    'tollgate_upstream_waiting',
    'Requests that wait for a slot.',
    ['upstream'],
    read(({ waiting }) => waiting),
  )
  gauges(
    'tollgate_upstream_out',
    '1 where an operator took it out.',
    ['upstream'],
    read(({ out }) => (out === null ? 0 : 1)),
  )
}

/** A metric may be a float, since the exact amounts are in the ledger. */
const heldUsd = (ledger: Ledger): number => toUsd(sumPicos(...ledger.holds().map(({ amountPicos }) => amountPicos)))

/** The log has some four megabytes in use; its file never shrinks below what was once needed. */
const walBytes = (ledgerPath: string): Promise<number> => sizeOf(`${ledgerPath}-wal`)

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )
