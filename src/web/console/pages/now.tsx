/** The gateway at this moment. Every figure has its place before it is known, and parts that grow stand last, so that nothing jumps. Rules: pages.md "Now". */

import type { NowDocument } from '../../now/document.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyButton } from '../../parts/copy.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { counted, showCount } from '../../parts/show-time.ts'
import { type Live, useNow } from '../live.ts'
import { HistorySection } from './history.tsx'
import { Incidents } from './incidents.tsx'
import { incidentsText, refusalsText, STATE_TEXTS, showBytes, showMs, showUptime, UNKNOWN } from './now.words.ts'
import { Fact, Figure } from './now-figures.tsx'
import { exploreToday } from './now-money.tsx'

export const NowPage = () => {
  const live = useNow()
  const now = live.history.at(-1)
  const isOld = live.state === 'lost' || live.state === 'paused'
  return (
    <>
      <PageHead title="Overview">
        <CopyButton name="Copy as text" make={() => (now === undefined ? '' : incidentsText(now))} isOff={now === undefined} />
        <span class="live">
          <Badge
            mood={live.state === 'live' ? 'good' : live.state === 'lost' ? 'bad' : 'quiet'}
            text={STATE_TEXTS[live.state](live.retryS)}
          />
        </span>
      </PageHead>
      <div class={isOld ? 'now is-old' : 'now'}>
        <Incidents now={now} />
        <Requests live={live} now={now} />
        <HistorySection now={now} />
        <Inside now={now} />
      </div>
    </>
  )
}

const Requests = ({ live, now }: Readonly<{ live: Live; now: NowDocument | undefined }>) => {
  const { requests, first_byte } = now ?? {}
  const history = (value: (now: NowDocument) => number): readonly number[] => live.history.map(value)
  return (
    <section class="stack" aria-label="Requests">
      <h2>Requests</h2>
      <dl class="figures live-figures">
        <Figure
          name="In flight"
          value={requests === undefined ? UNKNOWN : showCount(requests.in_flight)}
          behind="/console/upstreams"
          note={requests === undefined ? '' : counted(requests.streams, 'stream')}
          spark={history((one) => one.requests.in_flight)}
        />
        <Figure
          name="Last minute"
          value={requests === undefined ? UNKNOWN : showCount(requests.ended)}
          behind="/console/requests"
          note={requests === undefined ? '' : `${requests.last_second} in the last second`}
          spark={history((one) => one.requests.last_second)}
        />
        <Figure
          name="Refused"
          value={requests === undefined ? UNKNOWN : showCount(requests.refused)}
          behind={exploreToday({ measure: 'refusals', by: 'reason,model' })}
          note={requests === undefined ? '' : refusalsText(requests)}
          spark={history((one) => one.requests.refused)}
        />
        <Figure
          name="First byte"
          value={showMs(first_byte?.p50_ms)}
          behind={exploreToday({ measure: 'first_byte_p50', by: 'upstream' })}
          note={`p99 ${showMs(first_byte?.p99_ms)}`}
          spark={history((one) => one.first_byte.p50_ms ?? 0)}
        />
      </dl>
    </section>
  )
}

const Inside = ({ now }: Readonly<{ now: NowDocument | undefined }>) => {
  const { ledger, process, calls } = now ?? {}
  return (
    <div class="halves">
      <section class="stack" aria-label="Ledger">
        <h2>Ledger</h2>
        <dl class="facts">
          <Fact
            name="State"
            value={ledger === undefined ? UNKNOWN : !ledger.is_sound ? 'damaged' : ledger.is_writable ? 'writable' : 'not writable'}
          />
          <Fact name="Commit" value={`${showMs(ledger?.commit_p50_ms)}, p99 ${showMs(ledger?.commit_p99_ms)}`} />
          <Fact name="Writes a commit" value={ledger === undefined ? UNKNOWN : String(ledger.group_size)} />
          {ledger !== undefined && ledger.promise !== '' && <Fact name="If Postgres fails" value={ledger.promise} />}
          <Fact name="Write-ahead log" value={showBytes(ledger?.wal_bytes)} />
          <Fact name="In the spill" value={showBytes(ledger?.spill_bytes)} />
          <Fact
            name="Calls, last minute"
            value={
              calls === undefined
                ? UNKNOWN
                : `${showCount(calls.answered)} answered, ${showCount(calls.failed)} failed, ${showCount(calls.retried)} tried elsewhere`
            }
          />
        </dl>
      </section>
      <section class="stack" aria-label="Process">
        <h2>Process</h2>
        <dl class="facts">
          <Fact name="Version" value={now?.version ?? UNKNOWN} />
          <Fact name="Up for" value={now === undefined ? UNKNOWN : showUptime(now.uptime_s)} />
          <Fact name="Memory" value={showBytes(process?.memory_bytes)} />
          <Fact name="Descriptors" value={descriptorsText(process)} />
          <Fact name="Disk left" value={`${showBytes(process?.disk_free_bytes)} of ${showBytes(process?.disk_bytes)}`} />
        </dl>
      </section>
    </div>
  )
}

function descriptorsText(process: NowDocument['process'] | undefined): string {
  if (process === undefined || process.descriptors === null) return UNKNOWN
  return process.descriptors_max === null
    ? showCount(process.descriptors)
    : `${showCount(process.descriptors)} of ${showCount(process.descriptors_max)}`
}
