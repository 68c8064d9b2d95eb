/**
 * What happened in a span: requests with their refusals, the time to the first byte, each upstream or model, the accounts with the most requests, and what operators did.
 * The address holds the span, and drawing over a chart chooses another. Rules: pages.md "History".
 */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { NowDocument } from '../../now/document.ts'
import { useAsked } from '../../parts/ask.ts'
import { showCount, showMoment } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { addressOf } from '../filters.ts'
import { againMs, askHistory, BEHIND_MS, type History, type HistoryView, SPANS, viewOf } from '../history-api.ts'
import { partSpan, refusedAt, requestSeries, sumOf, timeSeries } from './history-series.ts'
import { Accounts, Reasons, requestsOf, trafficOf } from './history-tables.tsx'
import { Multiples } from './multiples.tsx'
import { MARK_TEXTS, showMs } from './now.words.ts'
import { MoneyToday } from './now-money.tsx'
import { SpentOf } from './spent.tsx'
import { TimeChart } from './time-chart.tsx'

/** `now`: the money of the day and the upstreams of this moment stand between and beside what happened. */
export const HistorySection = ({ now }: Readonly<{ now: NowDocument | undefined }>) => {
  const { query, route } = useLocation()
  const view = viewOf(query)
  const show = (changed: Partial<HistoryView>): void => route(addressOf('/console', { ...view, ...changed }), true)
  const { loaded, again } = useAsked(() => askHistory(view), [view.span, view.by, view.from, view.to])
  const known = loaded.value
  const marks = useMemo(() => marksOf(known), [known])
  useEffect(() => {
    if (known === undefined || view.from !== undefined) return
    const timer = setInterval(() => !document.hidden && again(), againMs(known))
    return () => clearInterval(timer)
  }, [known && againMs(known), view.from])
  return (
    <>
      <section class="stack" aria-label="What happened">
        <h2>What happened</h2>
        <Controls view={view} show={show} />
        <Show loaded={loaded} again={again} lines={12}>
          {(history) => <Happened history={history} view={view} show={show} />}
        </Show>
      </section>
      <MoneyToday now={now} />
      {known !== undefined && (
        <>
          <SpentOf view={view} show={show} marks={marks} history={known} />
          {known.lines.length > 0 && (
            <section class="stack" aria-label="Who asked most">
              <h2>Who asked most</h2>
              <Accounts history={known} />
            </section>
          )}
        </>
      )}
      <Multiples history={known} upstreams={now?.upstreams ?? []} by={view.by} show={(by) => show({ by })} />
    </>
  )
}

const marksOf = (history: History | undefined) => (history?.marks ?? []).map(({ at, kind }) => ({ at, isBad: kind === 'lost' }))

type Showing = Readonly<{ view: HistoryView; show: (changed: Partial<HistoryView>) => void }>

const Controls = ({ view, show }: Showing) => (
  <div class="controls">
    <fieldset class="segments">
      <legend class="unseen">Time</legend>
      {SPANS.map(({ span, text }) => (
        <button
          key={span}
          type="button"
          aria-pressed={view.from === undefined && view.span === span}
          onClick={() => show({ span, from: undefined, to: undefined })}
        >
          {text}
        </button>
      ))}
      {view.from !== undefined && view.to !== undefined && (
        <button type="button" aria-pressed={true} onClick={() => show({ from: undefined, to: undefined })}>
          {showMoment(view.from)} – {showMoment(view.to)}
        </button>
      )}
    </fieldset>
  </div>
)

const Happened = ({ history, view, show }: Showing & Readonly<{ history: History }>) => {
  const [pointed, setAt] = useState<number | null>(null)
  const { from, to, parts, part_s, all } = history
  const { route } = useLocation()
  // Another span may have fewer parts than the one that was pointed into.
  const at = pointed !== null && pointed < parts.length ? pointed : null
  const marks = useMemo(() => marksOf(history), [history])
  const requests = useMemo(() => requestSeries(all), [all])
  const times = useMemo(() => timeSeries(all), [all])
  const chart = {
    from,
    to,
    parts,
    partS: part_s,
    marks,
    endsNow: view.to === undefined,
    point: setAt,
    choose: (first: string, end: string) => show({ from: first, to: end }),
  }
  const opens = (what: string, order?: string) => ({
    what,
    open: (index: number) => route(requestsOf(partSpan(history, index), { order })),
  })
  return (
    <>
      <div class="halves">
        <div class="card chart-card">
          <p class="readout">{requestsText(history, at)}</p>
          <TimeChart {...chart} series={requests} isStacked={true} showValue={showCount} opened={opens('the requests of one')} />
        </div>
        <div class="card chart-card">
          <p class="readout">{timesText(history, at)}</p>
          <TimeChart
            {...chart}
            series={times}
            isStacked={false}
            showValue={showMs}
            opened={opens('the requests of one, the longest first', '-time')}
          />
        </div>
      </div>
      {history.lines.length === 0 && (
        <Empty title="No request ended in this span">
          {view.to === undefined && <p>One that has just ended stands here within {BEHIND_MS / 1_000} seconds.</p>}
        </Empty>
      )}
      <div class="halves">
        <Reasons history={history} />
        <div>
          <Marks history={history} />
        </div>
      </div>
    </>
  )
}

function requestsText(history: History, at: number | null) {
  const { all, parts } = history
  const total = at === null ? sumOf(all.requests) : (all.requests[at] ?? 0)
  const refused = at === null ? sumOf(Object.values(all.refusals).map(sumOf)) : refusedAt(all, at)
  const when = at === null ? '' : `, ${showMoment(parts[at] ?? '')}`
  return (
    <>
      <strong>{at === null ? <a href={requestsOf(history)}>{showCount(total)}</a> : showCount(total)}</strong> requests,{' '}
      {at === null ? (
        <a href={trafficOf(history, 'refusals', 'reason,model')}>{showCount(refused)} refused</a>
      ) : (
        `${showCount(refused)} refused`
      )}
      {when}
    </>
  )
}

function timesText({ all, parts }: History, at: number | null) {
  const spread = at === null ? undefined : all.first_byte[at]
  if (at === null || spread === undefined) return <strong>First byte</strong>
  return (
    <>
      <strong>{showMs(spread.p50_ms)}</strong> to the first byte, p95 {showMs(spread.p95_ms)}, p99 {showMs(spread.p99_ms)},{' '}
      {showMoment(parts[at] ?? '')}
    </>
  )
}

const Marks = ({ history: { marks } }: Readonly<{ history: History }>) =>
  marks.length === 0 ? null : (
    <details>
      <summary>{marks.length === 1 ? 'One event' : `${showCount(marks.length)} events`} in this span</summary>
      <ul class="plain">
        {marks.map(({ at, kind, what }) => (
          <li key={`${at} ${kind} ${what}`}>
            {showMoment(at)}:{' '}
            {kind === 'began' || kind === 'lost' ? (
              MARK_TEXTS[kind](what)
            ) : (
              <a href={addressOf('/console/audit', { action: kind })}>{MARK_TEXTS[kind](what)}</a>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
