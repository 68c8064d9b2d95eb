/** The tables of a span of the overview: why requests were refused, and the accounts with the most requests. Figures lead to what is behind them. Rules: pages.md "History", "Tables". */

import { exploreSearch } from '../../parts/explore-view.ts'
import { showCount } from '../../parts/show-time.ts'
import { Table } from '../../parts/table.tsx'
import { addressOf, type Filters } from '../filters.ts'
import type { History } from '../history-api.ts'
import { sumOf } from './history-series.ts'
import { changeText, wordsOf } from './now.words.ts'

type Span = Readonly<{ from: string; to: string }>

/** The requests of the span, one by one. */
export const requestsOf = ({ from, to }: Span, filters: Filters<string> = {}): string =>
  addressOf('/console/requests', { ...filters, from, to })

/** The UTC days of the span on Explore, as far as that knows of traffic, in hours where they are few. */
export const trafficOf = ({ from, to }: Span, measure: string, by: string, filters: Filters<'model' | 'upstream'> = {}): string => {
  const last = new Date(Date.parse(to) - 1).toISOString()
  const step = Date.parse(to) - Date.parse(from) > 2 * 86_400_000 ? 'day' : 'hour'
  return `/console/explore${exploreSearch({ measure, by, step, ...filters, from: from.slice(0, 10), to: last.slice(0, 10) })}`
}

/** Why requests were refused, the most frequent first. */
export const Reasons = ({ history }: Readonly<{ history: History }>) => {
  const reasons = Object.entries(history.all.refusals).map(([name, counts]) => ({ name, count: sumOf(counts) }))
  if (reasons.length === 0) return null
  return (
    <Table
      label="Refused, by reason"
      columns={[
        { name: 'Refused because', cell: ({ name }: (typeof reasons)[number]) => wordsOf(name) },
        {
          name: 'Requests',
          isFigure: true,
          cell: ({ count }) => <a href={trafficOf(history, 'refusals', 'reason,model')}>{showCount(count)}</a>,
        },
      ]}
      rows={reasons.toSorted((a, b) => b.count - a.count)}
      keyOf={({ name }) => name}
    />
  )
}

type AccountLine = History['accounts'][number]

export const Accounts = ({ history }: Readonly<{ history: History }>) => (
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
      {
        name: 'Requests',
        isFigure: true,
        cell: ({ id, requests }) => <a href={requestsOf(history, { account_id: id })}>{showCount(requests)}</a>,
      },
      {
        name: 'Refused',
        isFigure: true,
        // What was refused has no rows; the account has what refuses: its balance, its keys and their limits.
        cell: ({ id, refused }) => (
          <a href={`/console/accounts/${id}`} title="Refused requests have no rows: the account has its balance, keys and limits">
            {showCount(refused)}
          </a>
        ),
      },
      { name: 'Change', isFigure: true, cell: ({ requests, before }) => changeText(requests, before) },
    ]}
    rows={history.accounts}
    keyOf={({ id }) => id}
  />
)
