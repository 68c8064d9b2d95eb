/** Everything outside a request that answering it needs. Tests build one with a frozen clock and a scripted upstream; `serve` builds the real one. */

import type { Catalog } from './core/catalog.ts'
import type { Limits } from './core/limits.ts'
import type { FactDifference } from './core/node-facts.ts'
import type { TimerWheel } from './core/timer-wheel.ts'
import type { KeyStore } from './ledger/admission/key-store.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Reports } from './ledger/reading/reports.ts'
import type { Log } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'
import type { UpstreamPool } from './upstream/pool.ts'

export type World = Readonly<{
  clock: Clock
  /** Keeps the time limits of all requests; it turns by the monotonic clock. */
  wheel: TimerWheel
  /** `req_` + UUIDv7 in hex. */
  requestId(): string
  ledger: Ledger
  reports: Reports
  keys: KeyStore
  upstreams: Pick<UpstreamPool, 'call' | 'droppedPaths'>
  log: Log
  metrics: Metrics
  /** A reload may change these, so they are read once a request. */
  catalog(): Catalog
  limits(): Limits
  dashboardUrl(): string
  /** Where clients reach this gateway: an origin, as the operator knows it. */
  publicUrl(): string
  trustedProxies(): readonly string[]
  corsOrigins(): readonly string[]
  /** Which acknowledged writes the server of a shared ledger may lose, in words; '': not known, or the ledger is a file. */
  ledgerPromise(): string
  /** Whether this process writes the ledger through another process of this machine. */
  isRelay(): boolean
  /** The settings in which the nodes of a shared ledger differ now. */
  nodeDifferences(): readonly FactDifference[]
  /** Whether the process ends soon: it is then not ready, and every answer closes its connection. */
  isLeaving(): boolean
  /** Whether new requests are refused. */
  isDraining(): boolean
}>

type Clock = Readonly<{
  /** Unix milliseconds. */
  now(): number
  /** Milliseconds that never jump: for durations and deadlines. */
  monotonicMs(): number
}>
