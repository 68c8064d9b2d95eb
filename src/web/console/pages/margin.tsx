/** What was charged and what it cost us, by day, account, model or upstream. Rules: pages.md "Margin". */

import { useLocation } from 'preact-iso/router'
import { withoutCostText } from '../../../core/without-cost.ts'
import { type Got, useAsked } from '../../parts/ask.ts'
import type { Column } from '../../parts/columns.ts'
import { dayBefore, idsText, momentsOf } from '../../parts/explore-view.ts'
import { Choice } from '../../parts/field.tsx'
import { Pick } from '../../parts/pick.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { usdNumber } from '../../parts/show-usd.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { api } from '../api.ts'
import { ACCOUNTS, MODELS, UPSTREAMS } from '../choices.ts'
import { asList, FilterForm } from '../filter-form.tsx'
import { addressOf, type Filters, filtersOf } from '../filters.ts'

type Margin = Got<typeof api.margin.get>
type Row = Margin['data'][number]

const FIELDS = ['by', 'account_id', 'model', 'upstream', 'from', 'to'] as const
type Filter = (typeof FIELDS)[number]
const BY = ['day', 'account', 'model', 'upstream'].map((value) => ({ value, text: value }))

/** The span that the gateway takes where none is given: thirty days. */
function spanOf({ to = dayBefore(Date.now(), 0) }: Filters<Filter>): Filters<'from' | 'to'> {
  const end = Date.parse(to)
  return Number.isNaN(end) ? {} : { from: dayBefore(end, 29), to }
}

export const MarginPage = () => {
  const { query } = useLocation()
  const given = filtersOf(FIELDS, query)
  const filters = { by: 'day', ...spanOf(given), ...given }
  return (
    <>
      <PageHead title="Margin" lede="What customers were charged, and what the same calls cost at their upstreams. Days are UTC.">
        <a class="button" href={addressOf('/console/api/margin.csv', { ...filters, by: '' })} download>
          CSV
        </a>
      </PageHead>
      <FilterForm path="/console/margin" filters={filters} isUtcDays>
        {(input) => (
          <>
            <Choice label="By" options={BY} {...input('by')} />
            <Pick label="Account" choices={ACCOUNTS} {...asList(input('account_id'))} />
            <Pick label="Model" choices={MODELS} {...asList(input('model'))} />
            <Pick label="Upstream" choices={UPSTREAMS} {...asList(input('upstream'))} />
          </>
        )}
      </FilterForm>
      <Sums filters={filters} />
    </>
  )
}

const Sums = ({ filters }: Readonly<{ filters: Filters<Filter> }>) => {
  const { loaded, again } = useAsked(() => api.margin.get({ query: filters as never }), [JSON.stringify(filters)])
  return (
    <Show loaded={loaded} again={again} lines={8}>
      {(margin) => (
        <>
          <WithoutCost of={margin.without_cost} />
          {margin.data.length === 0 ? (
            <p class="note">
              No call of these days has a known cost. Say what an upstream charges with <code>cost</code> in the settings.
            </p>
          ) : (
            <Table
              label={`Margin by ${margin.by}, ${margin.from} to ${margin.to}`}
              columns={columnsOf(margin, filters)}
              rows={margin.data}
              keyOf={({ id }) => id}
              isAll
              kept="margin"
              foot={footOf(margin)}
            />
          )}
          {margin.others !== null && <p class="quiet">{showCount(margin.others.count)} more stand in the file and in the sums.</p>}
        </>
      )}
    </Show>
  )
}

const WithoutCost = ({ of }: Readonly<{ of: Margin['without_cost'] }>) =>
  of.length === 0 ? null : <p class="note wary">{withoutCostText(of)}</p>

const shareLeft = ({ charged_usd, margin_usd }: Margin['total']): number | null =>
  usdNumber(charged_usd) === 0 ? null : usdNumber(margin_usd) / usdNumber(charged_usd)
const percent = (share: number | null): string => (share === null ? '–' : `${(share * 100).toFixed(1)} %`)

/** The requests that a row is of, among which are those whose cost is not known. */
function requestsOf({ by, from, to }: Margin, { account_id, model, upstream }: Filters<Filter>, { id }: Row): string {
  const [first, last] = by === 'day' ? [id, id] : [from, to]
  const only = {
    account_id,
    model,
    upstream,
    ...{ day: {}, account: { account_id: id }, model: { model: idsText([id]) }, upstream: { upstream: idsText([id]) } }[by],
  }
  return addressOf('/console/requests', { ...only, ...momentsOf({ from: first, to: last }) })
}

const columnsOf = (margin: Margin, filters: Filters<Filter>): readonly Column<Row>[] => [
  {
    name: margin.by[0]?.toUpperCase() + margin.by.slice(1),
    by: ({ id, name }) => name || id,
    cell: (row) => (
      <a class="breaks" href={behindName(margin.by, row) ?? requestsOf(margin, filters, row)} title={row.id}>
        {row.name || row.id}
      </a>
    ),
  },
  {
    name: 'Requests',
    isFigure: true,
    by: ({ requests }) => requests,
    cell: (row) => <a href={requestsOf(margin, filters, row)}>{showCount(row.requests)}</a>,
  },
  { name: 'Charged', onCard: 'first', usd: ({ charged_usd }) => charged_usd },
  { name: 'Cost', usd: ({ upstream_cost_usd }) => upstream_cost_usd },
  { name: 'of failed calls', usd: ({ other_calls_cost_usd }) => other_calls_cost_usd },
  { name: 'Waived', usd: ({ waived_usd }) => waived_usd },
  { name: 'Lost cache', usd: ({ cache_lost_usd }) => cache_lost_usd },
  { name: 'Margin', onCard: 'first', usd: ({ margin_usd }) => margin_usd },
  {
    name: 'Of charged',
    isFigure: true,
    by: (row) => shareLeft(row) ?? -Infinity,
    cell: (row) => percent(shareLeft(row)),
  },
]

/** The page of a thing; undefined: it has none. */
const behindName = (by: Margin['by'], { id }: Row): string | undefined =>
  by === 'account' ? `/console/accounts/${id}` : by === 'upstream' ? '/console/upstreams' : undefined

const footOf = ({ total }: Margin) => [
  'All',
  showCount(total.requests),
  total.charged_usd,
  total.upstream_cost_usd,
  total.other_calls_cost_usd,
  total.waived_usd,
  total.cache_lost_usd,
  total.margin_usd,
  percent(shareLeft(total)),
]
