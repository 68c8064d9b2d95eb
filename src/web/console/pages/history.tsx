/**
 * What happened in a span: requests with their refusals, the time to the first byte, each upstream or model, the accounts with the most requests, and what operators did.
 * The address holds the span, and drawing over a chart chooses another. Rules: pages.md "History".
 */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import { showCount, showMoment } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { addressOf } from '../filters.ts'
import { againMs, askHistory, type History, type HistoryView, type Line, SPANS, sumOf, viewOf } from '../history-api.ts'
import { Accounts, Lines, Reasons, requestsOf } from './history-tables.tsx'
import { MARK_TEXTS, showMs, wordsOf } from './now.words.ts'
import { SpentOf } from './spent.tsx'
import { TimeChart } from './time-chart.tsx'

const ANSWERED_COLOUR = '#0f9673'
const SPREAD_COLOURS = { p50_ms: '#0f9673', p95_ms: '#d08a2e', p99_ms: '#c65653' } as const
const REASONS_MAX = 5

export const HistorySection = () => {
  const { query, route } = useLocation()
  const view = viewOf(query)
  const show = (changed: Partial<HistoryView>): void => route(addressOf('/console', { ...view, ...changed }), true)
  const { loaded, again } = useAsked(() => askHistory(view), [view.span, view.by, view.from, view.to])
  const known = loaded.value
  useEffect(() => {
    if (known === undefined || view.from !== undefined) return
    const timer = setInterval(() => !document.hidden && again(), againMs(known))
    return () => clearInterval(timer)
  }, [known?.part_s, view.from])
  return (
    <section class="stack" aria-label="What happened">
      <h2>What happened</h2>
      <Controls view={view} show={show} />
      <Show loaded={loaded} again={again} lines={12}>
        {(history) => <Happened history={history} view={view} show={show} />}
      </Show>
    </section>
  )
}

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
    <fieldset class="segments">
      <legend class="unseen">Grouped by</legend>
      {(['upstream', 'model'] as const).map((by) => (
        <button key={by} type="button" aria-pressed={view.by === by} onClick={() => show({ by })}>
          By {by}
        </button>
      ))}
    </fieldset>
  </div>
)

const Happened = ({ history, view, show }: Showing & Readonly<{ history: History }>) => {
  const [pointed, setAt] = useState<number | null>(null)
  const { parts, part_s, all } = history
  // Another span may have fewer parts than the one that was pointed into.
  const at = pointed !== null && pointed < parts.length ? pointed : null
  const marks = useMemo(() => history.marks.map(({ at: moment, kind }) => ({ at: moment, isBad: kind === 'lost' })), [history])
  const requests = useMemo(() => requestSeries(all), [all])
  const times = useMemo(() => timeSeries(all), [all])
  const chart = {
    parts,
    partS: part_s,
    marks,
    endsNow: view.to === undefined,
    point: setAt,
    choose: (from: string, to: string) => show({ from, to }),
  }
  return (
    <>
      <div class="halves">
        <div class="card chart-card">
          <p class="readout">{requestsText(history, at)}</p>
          <TimeChart {...chart} series={requests} isStacked={true} showValue={showCount} />
        </div>
        <div class="card chart-card">
          <p class="readout">{timesText(history, at)}</p>
          <TimeChart {...chart} series={times} isStacked={false} showValue={showMs} />
        </div>
      </div>
      <Marks history={history} />
      <SpentOf view={view} show={show} marks={marks} turn={history} />
      {history.lines.length === 0 ? (
        <Empty title="No request ended in this span" />
      ) : (
        <div class="halves">
          <div class="stack">
            <Lines history={history} by={view.by} />
            <Reasons history={history} />
          </div>
          <Accounts history={history} />
        </div>
      )}
    </>
  )
}

const refusedAt = ({ refusals }: Line, at: number): number => sumOf(Object.values(refusals).map((counts) => counts[at] ?? 0))

/** What was answered, and below it the most frequent reasons of refusals; the others together. */
function requestSeries(line: Line) {
  const reasons = Object.entries(line.refusals).toSorted(([, a], [, b]) => sumOf(b) - sumOf(a))
  const [shown, others] = [reasons.slice(0, REASONS_MAX), reasons.slice(REASONS_MAX)]
  const colours = coloursOf(
    shown.map(([name]) => name),
    ANSWERED_COLOUR,
  )
  return [
    { name: 'answered', colour: ANSWERED_COLOUR, values: line.requests.map((count, at) => count - refusedAt(line, at)) },
    ...shown.map(([name, values]) => ({ name: wordsOf(name), colour: colours.get(name) ?? OTHERS_COLOUR, values: [...values] })),
    ...(others.length === 0
      ? []
      : [
          {
            name: 'other refusals',
            colour: OTHERS_COLOUR,
            values: line.requests.map((_, at) => sumOf(others.map(([, counts]) => counts[at] ?? 0))),
          },
        ]),
  ]
}

const timeSeries = ({ first_byte }: Line) =>
  (['p50_ms', 'p95_ms', 'p99_ms'] as const).map((name) => ({
    name: name.replace('_ms', ''),
    colour: SPREAD_COLOURS[name],
    values: first_byte.map((spread) => spread[name]),
  }))

function requestsText(history: History, at: number | null) {
  const { all, parts } = history
  const total = at === null ? sumOf(all.requests) : (all.requests[at] ?? 0)
  const refused = at === null ? sumOf(Object.values(all.refusals).map(sumOf)) : refusedAt(all, at)
  const when = at === null ? '' : `, ${showMoment(parts[at] ?? '')}`
  return (
    <>
      <strong>{at === null ? <a href={requestsOf(history)}>{showCount(total)}</a> : showCount(total)}</strong> requests,{' '}
      {showCount(refused)} refused{when}
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
