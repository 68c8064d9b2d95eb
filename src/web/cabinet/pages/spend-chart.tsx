/** Spend as stacked bars, one for each day or hour; the parts of a bar stand above the chart while it is pointed at. */

import { useMemo, useState } from 'preact/hooks'
import { Bars } from '../../parts/chart.tsx'
import type { Moments } from '../../parts/explore-view.ts'
import { showDay } from '../../parts/show-time.ts'
import { showUsd, sumUsd, usdNumber } from '../../parts/show-usd.ts'
import { keyTitle } from '../key-title.ts'
import type { Spend } from '../spend-api.ts'
import { spendSeries } from '../spend-series.ts'
import { barSpan } from '../spend-view.ts'

/** `open`: called with the span of the bar that is clicked. */
export const SpendChart = ({ spend, open }: Readonly<{ spend: Spend; open: (span: Moments) => void }>) => {
  const [at, setAt] = useState<number | null>(null)
  const days = useMemo(() => (spend.is_by_hour ? spend.places : spend.places.map(showDay)), [spend])
  const series = useMemo(() => spendSeries(spend), [spend])
  const place = at === null ? undefined : days[at]
  return (
    <div class="card chart-card">
      <p class="readout" aria-hidden="true">
        {at === null || place === undefined ? (
          <>
            <strong>{showUsd(spend.total.cost_usd)}</strong> {spend.is_by_hour ? `on ${showDay(spend.to)}, by hour (UTC)` : ''}
            {spend.is_by_hour ? '' : `from ${showDay(spend.from)} to ${showDay(spend.to)}`}
          </>
        ) : (
          <>
            <strong>{sumAt(spend, at)}</strong> on {place}
            {partsAt(spend, at)}
          </>
        )}
      </p>
      <Bars
        days={days}
        series={series}
        showValue={(value) => showUsd(value.toFixed(6))}
        point={setAt}
        opened={{
          textOf: (index) => `${days[index] ?? ''}: ${sumAt(spend, index)}`,
          open: (index) => open(barSpan(spend, index)),
        }}
      />
    </div>
  )
}

const sumAt = ({ series }: Spend, at: number): string => showUsd(sumUsd(series.map(({ values }) => values[at] ?? '0')))

const MOST_SHOWN = 3

/** The dearest parts of a bar, as text. */
function partsAt({ series }: Spend, at: number): string {
  const parts = series
    .map(({ id, name, values }) => ({ title: id === null ? 'others' : keyTitle({ id, name }), cost: values[at] ?? '0' }))
    .filter(({ cost }) => cost !== '0')
    .toSorted((a, b) => usdNumber(b.cost) - usdNumber(a.cost))
  return parts.length < 2
    ? parts.map(({ title }) => `: ${title}`).join('')
    : `: ${parts
        .slice(0, MOST_SHOWN)
        .map(({ title, cost }) => `${title} ${showUsd(cost)}`)
        .join(', ')}${parts.length > MOST_SHOWN ? ', …' : ''}`
}
