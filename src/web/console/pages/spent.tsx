/** What was spent in the span of the overview, and who spent most: by model, account or key, each beside the span before. Rules: pages.md "Now", "Explore". */

import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { titlesOf } from '../../parts/explore-titles.ts'
import { exploreSearch, idsText } from '../../parts/explore-view.ts'
import { showCount, spanText } from '../../parts/show-time.ts'
import { showUsd, sumUsd, usdNumber } from '../../parts/show-usd.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { hasUpstreamCost, knownCostNote, upstreamCostOf } from '../../parts/upstream-cost.ts'
import { Usd } from '../../parts/usd.tsx'
import { askSpent, type History, type HistoryView, SPENT_BY, type Spent } from '../history-api.ts'
import { requestsOf } from './history-tables.tsx'
import { againstBefore, changeText } from './now.words.ts'
import { barSpan, spentSeries } from './spent-series.ts'
import { TimeChart } from './time-chart.tsx'

type Showing = Readonly<{ view: HistoryView; show: (changed: Partial<HistoryView>) => void }>
type Marks = Parameters<typeof TimeChart>[0]['marks']

/** `history`: of the charts beside it, whose time the axis has; another one asks again. */
export const SpentOf = ({ view, show, marks, history }: Showing & Readonly<{ marks: Marks; history: History }>) => {
  const { loaded, again } = useAsked(() => askSpent(view), [view.span, view.spent, view.from, view.to, history])
  return (
    <section class="stack" aria-label="Spend">
      <div class="controls">
        <h3>Spend</h3>
        <fieldset class="segments">
          <legend class="unseen">Spend by</legend>
          {SPENT_BY.map((spent) => (
            <button key={spent} type="button" aria-pressed={view.spent === spent} onClick={() => show({ spent })}>
              By {spent}
            </button>
          ))}
        </fieldset>
      </div>
      <Show loaded={loaded} again={again} lines={10}>
        {(found) => (
          <div class="halves">
            <SpentChart found={found} show={show} marks={marks} endsNow={view.to === undefined} history={history} />
            {found.data.length === 0 ? <NothingSpent /> : <SpentTable found={found} />}
          </div>
        )}
      </Show>
    </section>
  )
}

const NothingSpent = () => (
  <Empty title="Nothing was spent in this span">
    <p>Who spent most stands here once a request is charged. A longer span may have some.</p>
  </Empty>
)

type Charted = Readonly<{ found: Spent; show: Showing['show']; marks: Marks; endsNow: boolean; history: History }>

const SpentChart = ({ found, show, marks, endsNow, history }: Charted) => {
  const [pointed, setAt] = useState<number | null>(null)
  const { places, series, step_s } = found
  const { route } = useLocation()
  const at = pointed !== null && pointed < places.length ? pointed : null
  const drawn = useMemo(() => spentSeries(found), [found])
  return (
    <div class="card chart-card">
      <p class="readout sentence">
        {at === null ? (
          <Whole found={found} />
        ) : (
          <>
            <strong>{showUsd(sumUsd(series.map(({ values }) => values[at] ?? '0')))}</strong> {spanText(barSpan(found, at))}
          </>
        )}
      </p>
      <TimeChart
        from={history.from}
        to={history.to}
        parts={places}
        partS={step_s}
        series={drawn}
        isStacked={true}
        showValue={(value) => showUsd(value.toFixed(6))}
        marks={marks}
        endsNow={endsNow}
        point={setAt}
        choose={(from, to) => show({ from, to })}
        opened={{
          what: 'the requests of one, the dearest first',
          open: (index) => route(requestsOf(barSpan(found, index), { order: '-cost' })),
        }}
      />
    </div>
  )
}

/** The sum, and of which hours it is: whole ones, which may be more than the time that was asked for. */
const Whole = ({ found }: Readonly<{ found: Spent }>) => {
  const { total } = found
  return (
    <>
      <strong>
        <a href={requestsOf(found)}>{showUsd(total.cost_usd)}</a>
      </strong>{' '}
      spent from {spanText(found, 'to')}, {againstBefore(usdNumber(total.cost_usd), usdNumber(total.before_usd))}
      {hasUpstreamCost(total) && `; it cost ${showUsd(upstreamCostOf(total) ?? '0')} at the upstreams`}
    </>
  )
}

const stepOf = (stepS: number): 'hour' | 'day' => (stepS === 3_600 ? 'hour' : 'day')

type Row = Spent['data'][number]

const SpentTable = ({ found }: Readonly<{ found: Spent }>) => {
  const { by, data, total } = found
  const titleOf = useMemo(() => titlesOf([by], data), [found])
  const idOf = ({ things }: Row): string => things[0]?.id ?? ''
  const behind = (row: Row): string =>
    requestsOf(found, { [by === 'model' ? 'model' : `${by}_id`]: by === 'model' ? idsText([idOf(row)]) : idOf(row) })
  return (
    <div class="stack tight">
      <Table
        label={`Who spent most, by ${by}`}
        columns={[
          {
            name: { model: 'Model', account: 'Account', key: 'Key' }[by],
            cell: (row: Row) => (
              <a class="breaks" href={by === 'account' ? `/console/accounts/${idOf(row)}` : behind(row)} title={idOf(row)}>
                {titleOf(by, idOf(row))}
              </a>
            ),
          },
          { name: 'Spend', onCard: 'first', usd: ({ cost_usd }) => cost_usd },
          {
            name: 'Requests',
            isFigure: true,
            onCard: 'first',
            cell: (row) => <a href={behind(row)}>{showCount(row.requests)}</a>,
          },
          { name: 'Change', isFigure: true, cell: ({ cost_usd, before_usd }) => changeText(usdNumber(cost_usd), usdNumber(before_usd)) },
        ]}
        rows={data}
        keyOf={idOf}
      />
      <Sums found={found} />
      {knownCostNote(total) !== null && <p class="quiet">{knownCostNote(total)}</p>}
    </div>
  )
}

/** What of the spend is no charge, or no exact one; and the way to all of it. */
const Sums = ({ found: { by, from, to, step_s, total } }: Readonly<{ found: Spent }>) => {
  const days = { from: from.slice(0, 10), to: new Date(Date.parse(to) - 1).toISOString().slice(0, 10) }
  return (
    <p class="quiet">
      <Usd exact={total.waived_usd} /> not charged, <Usd exact={total.estimated_usd} /> estimated.{' '}
      <a href={`/console/explore${exploreSearch({ ...days, by, step: stepOf(step_s) })}`}>Explore</a> ·{' '}
      <a href={`/console/margin?${new URLSearchParams(days)}`}>Margin</a>
    </p>
  )
}
