/**
 * What happened in a span: requests with their refusals, the time to the first byte, each upstream or model, the accounts with the most requests, and what operators did.
 * The address holds the span, and drawing over a chart chooses another. Rules: pages.md "History".
 */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { coloursOf, OTHERS_COLOUR } from '../../parts/colours.ts'
import { idsText } from '../../parts/explore-view.ts'
import { showCount, showMoment } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { addressOf } from '../filters.ts'
import { againMs, askHistory, type History, type HistoryView, type Line, SPANS, sumOf, typicalMs, viewOf } from '../history-api.ts'
import { changeText, MARK_TEXTS, showMs, wordsOf } from './now.words.ts'
import { Spark } from './now-figures.tsx'
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
  const marks = useMemo(() => history.marks.map(({ at: moment, kind }) => ({ at: moment, isBad: kind !== 'began' })), [history])
  const requests = useMemo(() => requestSeries(all), [all])
  const times = useMemo(() => timeSeries(all), [all])
  const chart = { parts, partS: part_s, marks, point: setAt, choose: (from: string, to: string) => show({ from, to }) }
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
      <p class="acts">
        <a href={addressOf('/console/requests', { from: history.from, to: history.to })}>Requests of this time, one by one</a>
      </p>
      <Marks history={history} />
      <Reasons history={history} />
      <div class="halves">
        <Lines history={history} by={view.by} />
        <Accounts history={history} />
      </div>
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

function requestsText({ all, parts }: History, at: number | null) {
  const total = at === null ? sumOf(all.requests) : (all.requests[at] ?? 0)
  const refused = at === null ? sumOf(Object.values(all.refusals).map(sumOf)) : refusedAt(all, at)
  const when = at === null ? '' : `, ${showMoment(parts[at] ?? '')}`
  return (
    <>
      <strong>{showCount(total)}</strong> requests, {showCount(refused)} refused{when}
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
            {kind === 'setUpstreamOut' ? (
              <a href={addressOf('/console/audit', { action: kind })}>{MARK_TEXTS[kind](what)}</a>
            ) : (
              MARK_TEXTS[kind](what)
            )}
          </li>
        ))}
      </ul>
    </details>
  )

/** Why requests were refused, the most frequent first. */
const Reasons = ({ history: { all } }: Readonly<{ history: History }>) => {
  const reasons = Object.entries(all.refusals).map(([name, counts]) => ({ name, count: sumOf(counts) }))
  if (reasons.length === 0) return null
  return (
    <Table
      label="Refused, by reason"
      columns={[
        { name: 'Refused because', cell: ({ name }: (typeof reasons)[number]) => wordsOf(name) },
        { name: 'Requests', isFigure: true, cell: ({ count }) => showCount(count) },
      ]}
      rows={reasons.toSorted((a, b) => b.count - a.count)}
      keyOf={({ name }) => name}
    />
  )
}

const Lines = ({ history: { lines }, by }: Readonly<{ history: History; by: HistoryView['by'] }>) => (
  <Table
    label={`By ${by}`}
    columns={[
      { name: by === 'model' ? 'Model' : 'Upstream', cell: (line: Line) => <LineName name={line.name} by={by} /> },
      { name: 'Requests', isFigure: true, cell: ({ requests }) => showCount(sumOf(requests)) },
      { name: 'Refused', isFigure: true, cell: ({ refusals }) => showCount(sumOf(Object.values(refusals).map(sumOf))) },
      { name: 'First byte', isFigure: true, cell: (line) => showMs(typicalMs(line)) },
      { name: 'Over time', cell: ({ requests }) => <Spark values={requests} least={requests.length} /> },
    ]}
    rows={lines}
    keyOf={({ name }) => name}
  />
)

const LineName = ({ name, by }: Readonly<{ name: string; by: HistoryView['by'] }>) =>
  name === 'none' ? (
    <span class="quiet">{by === 'model' ? 'no model' : 'no upstream'}</span>
  ) : (
    <a class="breaks" href={by === 'model' ? addressOf('/console/requests', { model: idsText([name]) }) : '/console/upstreams'}>
      {name}
    </a>
  )

type AccountLine = History['accounts'][number]

const Accounts = ({ history: { accounts } }: Readonly<{ history: History }>) => (
  <Table
    label="Accounts with the most requests"
    columns={[
      {
        name: 'Account',
        cell: ({ id, name }: AccountLine) => (
          <a class="breaks" href={`/console/accounts/${id}`} title={id}>
            {name || id}
          </a>
        ),
      },
      { name: 'Requests', isFigure: true, cell: ({ requests }) => showCount(requests) },
      { name: 'Refused', isFigure: true, cell: ({ refused }) => showCount(refused) },
      { name: 'Change', isFigure: true, cell: ({ requests, before }) => changeText(requests, before) },
    ]}
    rows={accounts}
    keyOf={({ id }) => id}
  />
)
