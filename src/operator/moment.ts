/**
 * What a process does at this moment, for the pages of operators and customers: of a gateway alone this is all there is, of several relays the ledger process adds it up. Rules:
 * processes.md "Once"; pages.md "Now".
 */

import type { Ledger } from '../ledger/ledger.ts'
import type { Alarm, Alarms } from '../observe/alarms.ts'
import { recentDescriptors } from '../observe/descriptors.ts'
import type { Metrics, MinuteReading } from '../observe/metrics.ts'
import type { UpstreamReport } from '../upstream/member.ts'
import type { UpstreamPool } from '../upstream/pool.ts'
import { type HeldByKey, heldByKey } from './held.ts'

export type Moment = Readonly<{
  /** The number of processes that answer clients, each with its own slots at each upstream. */
  processes: number
  /** The number of requests and streams that have not ended. */
  running: number
  /** What they have reserved. */
  held: HeldByKey
  upstreams: readonly UpstreamReport[]
  /** When an upstream answered last, by its name, in Unix milliseconds. */
  lastAnswers: Readonly<Record<string, number>>
  minute: MinuteReading
  /** The newest first. */
  alarms: readonly Alarm[]
  memoryBytes: number
  /** The open descriptors of the process; null where the system does not tell. Of several processes: of the one with the most, since each has its own limit. */
  descriptors: number | null
}>

type Parts = Readonly<{
  world: Readonly<{ ledger: Pick<Ledger, 'holds'>; metrics: Pick<Metrics, 'minute'> }>
  upstreams: Pick<UpstreamPool, 'reports' | 'members'>
  alarms: Pick<Alarms, 'list'>
  /** The number of running requests; undefined: this process answers no clients. */
  running: (() => number) | undefined
}>

export function momentHere({ world: { ledger, metrics }, upstreams, alarms, running }: Parts): Moment {
  const answered = upstreams
    .members()
    .flatMap(({ name, lastAnswerAt }) => (lastAnswerAt === undefined ? [] : [[name, lastAnswerAt] as const]))
  return {
    processes: running === undefined ? 0 : 1,
    running: running?.() ?? 0,
    held: heldByKey(ledger.holds()),
    upstreams: upstreams.reports(),
    lastAnswers: Object.fromEntries(answered),
    minute: metrics.minute(),
    alarms: alarms.list(),
    memoryBytes: process.memoryUsage.rss(),
    descriptors: recentDescriptors() ?? null,
  }
}
