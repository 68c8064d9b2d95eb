/** The moments of a ledger process and its relays as one. Rules: processes.md "Once"; pages.md "Now". */

import { picos } from '../core/money.ts'
import type { Alarm } from '../observe/alarms.ts'
import type { MinuteReading } from '../observe/metrics.ts'
import type { UpstreamModelReport, UpstreamReport } from '../upstream/member.ts'
import { summed } from './held.ts'
import type { Moment } from './moment.ts'

/** `own`: that of the ledger process, which has the file, knows each order about upstreams, and answers no clients itself. */
export function together(own: Moment, relays: readonly Moment[]): Moment {
  const all = [own, ...relays]
  return {
    processes: sumOf(all, ({ processes }) => processes),
    running: sumOf(all, ({ running }) => running),
    held: summed(all.flatMap(({ held }) => held)),
    upstreams: own.upstreams.map((report) =>
      all.flatMap(({ upstreams }) => upstreams.filter(({ name }) => name === report.name)).reduce(both),
    ),
    lastAnswers: latest(all.flatMap(({ lastAnswers }) => Object.entries(lastAnswers))),
    minute: minuteOf(own, all),
    alarms: alarmsOf(all.flatMap(({ alarms }) => alarms)),
    memoryBytes: sumOf(all, ({ memoryBytes }) => memoryBytes),
    descriptors: own.descriptors === null ? null : Math.max(...all.map(({ descriptors }) => descriptors ?? 0)),
  }
}

const sumOf = <T>(all: readonly T[], of: (one: T) => number): number => all.reduce((sum, one) => sum + of(one), 0)

function latest(times: readonly (readonly [string, number])[]): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [name, at] of times) found[name] = Math.max(at, found[name] ?? 0)
  return found
}

/** An order is the same in all processes. */
function both(a: UpstreamReport, b: UpstreamReport): UpstreamReport {
  const models = [...Map.groupBy([...a.models, ...b.models], ({ model }) => model).values()]
  return {
    ...a,
    running: a.running + b.running,
    waiting: a.waiting + b.waiting,
    out: a.out ?? b.out,
    lastFailure: (a.lastFailure?.at ?? 0) >= (b.lastFailure?.at ?? 0) ? a.lastFailure : b.lastFailure,
    models: models.map((reports) => reports.reduce(worse)),
  }
}

const BADNESS = { closed: 0, 'half-open': 1, open: 2 } as const

/** Each process has breakers of its own: what is open in one is shown as open. */
function worse(a: UpstreamModelReport, b: UpstreamModelReport): UpstreamModelReport {
  const { breaker, probeInMs } = BADNESS[a.breaker] >= BADNESS[b.breaker] ? a : b
  return { model: a.model, breaker, probeInMs, firstEventMs: Math.max(a.firstEventMs, b.firstEventMs), share: Math.min(a.share, b.share) }
}

/** The ledger process alone commits, so that its commits and its spill are those of all. */
function minuteOf({ minute: own }: Moment, all: readonly Moment[]): MinuteReading {
  const minutes = all.map(({ minute }) => minute)
  const names = Map.groupBy(
    minutes.flatMap(({ refusals }) => refusals),
    ({ name }) => name,
  )
  return {
    ...own,
    requests: sumOf(minutes, ({ requests }) => requests),
    lastSecond: sumOf(minutes, ({ lastSecond }) => lastSecond),
    refusals: [...names].map(([name, counts]) => ({ name, count: sumOf(counts, ({ count }) => count) })),
    firstBytes: own.firstBytes.map((_, bin) => sumOf(minutes, ({ firstBytes }) => firstBytes[bin] ?? 0)),
    calls: {
      answered: sumOf(minutes, ({ calls }) => calls.answered),
      failed: sumOf(minutes, ({ calls }) => calls.failed),
      retried: sumOf(minutes, ({ calls }) => calls.retried),
    },
    cacheLostPicos: picos(minutes.reduce((sum, { cacheLostPicos }) => sum + cacheLostPicos, 0n)),
    thinkingLost: sumOf(minutes, ({ thinkingLost }) => thinkingLost),
    streams: sumOf(minutes, ({ streams }) => streams),
  }
}

/** One entry a kind, as each process has them, the newest first. */
function alarmsOf(all: readonly Alarm[]): readonly Alarm[] {
  const kinds = [...Map.groupBy(all, ({ what }) => what).values()].map((alarms) =>
    alarms.reduce((a, b) => ({
      ...(a.lastAt >= b.lastAt ? a : b),
      count: a.count + b.count,
      firstAt: Math.min(a.firstAt, b.firstAt),
    })),
  )
  return kinds.sort((a, b) => b.lastAt - a.lastAt)
}
