/** The gateway at this moment, as one document for all viewers. It is made from memory; figures of files and of the ledger are measured apart. Rules: pages.md "Now". */

import { version } from '../../../package.json' with { type: 'json' }
import { spreadOf } from '../../core/last-minute.ts'
import { toExactUsdText } from '../../core/money.ts'
import { differenceText } from '../../core/node-facts.ts'
import { isoTime } from '../../core/utc.ts'
import { descriptorLimit } from '../../observe/descriptors.ts'
import { heldIn } from '../../operator/held.ts'
import type { UpstreamReport } from '../../upstream/member.ts'
import type { Site } from '../site.ts'
import { alarmsNow } from './alarms.ts'
import type { NowDocument, UpstreamNow } from './document.ts'
import type { Measures } from './measures.ts'
import type { FirstSeen } from './standing.ts'

export function snapshotOf(site: Site, measures: Measures, seen: FirstSeen): NowDocument {
  const { world, config } = site
  const { ledger, clock } = world
  const { minute, held, running, alarms, ...moment } = site.moment()
  const reserved = heldIn(held)
  const [firstByte, commits] = [spreadOf(minute.firstBytes), spreadOf(minute.commits)]
  const document = {
    at: new Date(clock.now()).toISOString(),
    version,
    uptime_s: Math.floor(process.uptime()),
    is_draining: world.isLeaving(),
    is_simulated: config().upstreams.length === 0,
    requests: {
      in_flight: running,
      streams: minute.streams,
      ended: minute.requests,
      last_second: minute.lastSecond,
      refused: minute.refusals.reduce((sum, { count }) => sum + count, 0),
      refusals: minute.refusals.toSorted((a, b) => b.count - a.count),
    },
    first_byte: { answers: firstByte.count, p50_ms: tenths(firstByte.p50Ms), p99_ms: tenths(firstByte.p99Ms) },
    calls: minute.calls,
    upstreams: upstreamsOf(moment.upstreams),
    ledger: {
      is_writable: ledger.isWritable(),
      is_sound: ledger.isSound(),
      commit_p50_ms: tenths(commits.p50Ms),
      commit_p99_ms: tenths(commits.p99Ms),
      group_size: minute.groups === 0 ? 0 : Math.round((minute.grouped / minute.groups) * 10) / 10,
      spill_bytes: minute.spillBytes,
      wal_bytes: measures.walBytes,
      holds: reserved.count,
      promise: world.ledgerPromise(),
      differences: world.nodeDifferences().map(differenceText),
      held_usd: toExactUsdText(reserved.amountPicos),
    },
    today: { ...todayOf(measures), cache_lost_usd: toExactUsdText(minute.cacheLostPicos), thinking_lost: minute.thinkingLost },
    process: {
      memory_bytes: moment.memoryBytes,
      descriptors: moment.descriptors,
      descriptors_max: finite(DESCRIPTORS_MAX),
      disk_free_bytes: measures.disk?.freeBytes ?? null,
      disk_bytes: measures.disk?.totalBytes ?? null,
    },
  }
  return { ...document, alarms: alarmsNow(document, alarms, seen) }
}

const DESCRIPTORS_MAX = descriptorLimit()

function todayOf({ today }: Measures) {
  if (today === null) return { requests: null, charged_usd: null, waived_usd: null, estimated_usd: null }
  return {
    requests: today.requests,
    charged_usd: toExactUsdText(today.costPicos),
    waived_usd: toExactUsdText(today.waivedPicos),
    estimated_usd: toExactUsdText(today.estimatedPicos),
  }
}

const upstreamsOf = (reports: readonly UpstreamReport[]): readonly UpstreamNow[] =>
  reports.map(({ name, out, running, waiting, lastFailure, models }) => ({
    name,
    out: out && { since: isoTime(out.at), by: out.by, reason: out.reason },
    in_flight: running,
    waiting,
    breaker:
      models.find(({ breaker }) => breaker === 'open')?.breaker ?? models.find(({ breaker }) => breaker !== 'closed')?.breaker ?? 'closed',
    broken: models.filter(({ breaker }) => breaker !== 'closed').map(({ model }) => model),
    last_failure: lastFailure && { ...lastFailure, at: isoTime(lastFailure.at) },
    first_event_ms: Math.max(0, ...models.map(({ firstEventMs }) => firstEventMs)) || null,
    slow: models.filter(({ share }) => share < 1).map(({ model }) => model),
  }))

const tenths = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10)
const finite = (count: number | undefined): number | null => (count === undefined || !Number.isFinite(count) ? null : count)
