/** Requests of all accounts, by filters that an index serves. The pages follow each other, and no total is counted. Rules: operator.md "Lists". */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAsked } from '../../parts/ask.ts'
import { FORMATS } from '../../parts/choices.ts'
import { Choice, Field } from '../../parts/field.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { DearestFirst, useListChoice } from '../../parts/order.tsx'
import { Pick } from '../../parts/pick.tsx'
import { OrderedSince, Requests } from '../../parts/requests.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager } from '../../parts/table.tsx'
import { withMoments } from '../../parts/zone.ts'
import { api } from '../api.ts'
import { ACCOUNTS, KEYS, MODELS, OUTCOMES, UPSTREAMS } from '../choices.ts'
import { asList, FilterForm } from '../filter-form.tsx'
import { type Filters, filtersOf } from '../filters.ts'

/** The rows of a full page. */
const ROWS = 50

const FIELDS = ['account_id', 'key_id', 'model', 'upstream', 'outcome', 'format', 'tag', 'only', 'from', 'to'] as const
type Filter = (typeof FIELDS)[number]
type RequestsQuery = NonNullable<NonNullable<Parameters<typeof api.requests.get>[0]>['query']>

const CHOICES = { account_id: ACCOUNTS, key_id: KEYS, model: MODELS, upstream: UPSTREAMS, outcome: OUTCOMES, format: FORMATS }

const ONLY = [
  { value: '', text: 'all' },
  { value: 'waived', text: 'only waived' },
  { value: 'over hold', text: 'only over their hold' },
  { value: 'estimated', text: 'only estimated' },
]

export const RequestsPage = () => {
  const { query } = useLocation()
  const filters = filtersOf(FIELDS, query)
  const order = { ...useListChoice('order'), onlyFalls: true }
  return (
    <>
      <PageHead title="Requests" lede="All of them, by when they came; those of a key or an account, by when they were booked." />
      <div class="stack">
        <FilterForm path="/console/requests" filters={filters} choices={CHOICES}>
          {(input) => (
            <>
              <Pick label="Account" choices={ACCOUNTS} {...asList(input('account_id'))} />
              <Pick label="Key" choices={KEYS} {...asList(input('key_id'))} />
              <Pick label="Model" choices={MODELS} {...asList(input('model'))} />
              <Pick label="Upstream" choices={UPSTREAMS} {...asList(input('upstream'))} />
              <Pick label="Outcome" choices={OUTCOMES} {...asList(input('outcome'))} />
              <Pick label="Format" choices={FORMATS} {...asList(input('format'))} />
              <Field label="Tag" maxLength={64} autocomplete="off" {...input('tag')} />
              <Choice label="Show" options={ONLY} {...input('only')} />
            </>
          )}
        </FilterForm>
        <div class="controls">
          <DearestFirst order={order} />
          <OpenById />
        </div>
      </div>
      <RequestList query={filters} />
    </>
  )
}

/** A field that opens the request with a given id. */
const OpenById = () => {
  const { route } = useLocation()
  const [id, setId] = useState('')
  return (
    <form
      class="inline beside"
      onSubmit={(event) => {
        event.preventDefault()
        if (id.trim() !== '') route(`/console/requests/${encodeURIComponent(id.trim())}`)
      }}
    >
      <Field label="Request id" maxLength={80} autocomplete="off" value={id} change={setId} />
      <button type="submit">Open</button>
    </form>
  )
}

/** `shownMax`: shows only so many of the newest requests, without pages. `turn`: a new value asks again. */
export const RequestList = ({ query, shownMax, turn = 0 }: Readonly<{ query: Filters<Filter>; shownMax?: number; turn?: number }>) => {
  const { route } = useLocation()
  const pages = useKeyset()
  const { cursor } = pages
  const order = { ...useListChoice('order'), onlyFalls: true }
  const filters = { ...withMoments(query), ...(shownMax === undefined && order.value !== '' ? { order: order.value } : {}) }
  const asked = JSON.stringify(filters)
  const { loaded, again } = useAsked(
    () => api.requests.get({ query: { ...filters, ...(cursor === undefined ? {} : { after: cursor }) } as RequestsQuery }),
    [asked, cursor, turn],
  )
  return (
    <Show loaded={loaded} again={again} lines={10}>
      {({ data, next_cursor, ordered }) => (
        <>
          <OrderedSince ordered={ordered} />
          {data.length === 0 ? (
            <Empty title={next_cursor === null ? 'No request was found' : 'None among the last 10,000'}>
              {next_cursor !== null && <p>What is older may hold some: go on with “Older”.</p>}
            </Empty>
          ) : (
            <Requests
              rows={data.slice(0, shownMax)}
              open={(id) => route(`/console/requests/${id}`)}
              {...(shownMax === undefined ? { order } : {})}
              more={[
                {
                  name: 'Account',
                  cell: ({ account_id, account_name }) => (
                    <a class="owner" href={`/console/accounts/${account_id}`} title={account_id}>
                      {account_name || account_id}
                    </a>
                  ),
                },
                {
                  name: 'Key',
                  cell: ({ key_id, key_name }) => (
                    <a class="breaks" href={`/console/requests?key_id=${key_id}`} title={key_id}>
                      {key_name || key_id}
                    </a>
                  ),
                },
                { name: 'Held', usd: ({ hold_usd }) => hold_usd },
                { name: 'Upstream', cell: ({ upstream }) => upstream?.name ?? 'none' },
              ]}
            />
          )}
          {shownMax === undefined && (
            <Pager
              {...pages}
              next={next_cursor}
              isShort={order.value === '' && data.length > 0 && data.length < ROWS}
              isOrdered={order.value !== ''}
            />
          )}
        </>
      )}
    </Show>
  )
}
