/** Requests in a table, and one of them opened: each count × its rate = its price, how the request ended, and why it cost nothing where it was free. */

import type { ComponentChildren } from 'preact'
import { Badge } from './badge.tsx'
import type { Column, Order } from './columns.ts'
import { CopyText } from './copy.tsx'
import { BASIS_WORDS, FORMAT_WORDS, ITEM_WORDS, OUTCOME_WORDS, type RequestDetail, type RequestRow } from './request-words.ts'
import { showCount, showDuration } from './show-time.ts'
import { showPerMillion, showPrice } from './show-usd.ts'
import { Table } from './table.tsx'
import { Moment } from './time.tsx'
import { Usd } from './usd.tsx'

/** All tokens that were read, cached ones too. */
const readTokens = ({ usage }: RequestRow): number => usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens

const Outcome = ({ outcome }: Pick<RequestRow, 'outcome'>) => {
  const [mood, text] = OUTCOME_WORDS[outcome]
  return <Badge mood={mood} text={text} />
}

/** `open`: opens a request. `more`: columns after the model, such as the key. `order`: the order in which the gateway gives them, where it can be chosen. */
export function Requests<Row extends RequestRow>({
  rows,
  open,
  more = [],
  order,
}: Readonly<{ rows: readonly Row[]; open: (requestId: string) => void; more?: readonly Column<Row>[]; order?: Order }>) {
  const columns: readonly Column<Row>[] = [
    {
      name: 'Booked',
      cell: ({ request_id, settled_at }) => (
        <button type="button" class="as-link" onClick={() => open(request_id)}>
          <Moment iso={settled_at} />
        </button>
      ),
    },
    { name: 'Cost', order: 'cost', onCard: 'first', usd: ({ cost_usd_exact }) => cost_usd_exact },
    { name: 'Model', cell: ({ model }) => <span class="thing">{model}</span> },
    ...more,
    { name: 'Outcome', onCard: 'first', cell: ({ outcome }) => <Outcome outcome={outcome} /> },
    { name: 'Tokens in', order: 'input', isFigure: true, cell: (row) => showCount(readTokens(row)) },
    { name: 'Tokens out', order: 'output', isFigure: true, cell: ({ usage }) => showCount(usage.output_tokens) },
    { name: 'Time', order: 'time', isFigure: true, cell: ({ duration_ms }) => showDuration(duration_ms) },
  ]
  return (
    <Table
      label="Requests"
      columns={columns}
      rows={rows}
      keyOf={({ request_id }) => request_id}
      kept="requests"
      {...(order === undefined ? {} : { order })}
    />
  )
}

/** Over which requests an order holds. `since`: null where that are all. */
export const OrderedSince = ({ ordered }: Readonly<{ ordered: Readonly<{ among: number; since: string | null }> | null }>) =>
  ordered === null ? null : (
    <p class="quiet" role="status">
      {ordered.since === null ? (
        `In this order are all ${showCount(ordered.among)} requests of the time and key that were chosen.`
      ) : (
        <>
          In this order are the newest {showCount(ordered.among)} requests, back to <Moment iso={ordered.since} />; a shorter time has all
          of its own.
        </>
      )}
    </p>
  )

/** `more`: facts that only some pages know. */
export const RequestOpened = ({ request, more }: Readonly<{ request: RequestDetail; more?: ComponentChildren }>) => (
  <div class="stack">
    <CopyText text={request.request_id} label="request id" />
    <Computation request={request} />
    {request.explanation !== null && (
      <p class="note">
        {request.explanation}
        {request.waived_usd_exact !== '0' && (
          <>
            {' '}
            Its price would have been <Usd exact={request.waived_usd_exact} />.
          </>
        )}
      </p>
    )}
    <dl class="facts">
      <dt>Outcome</dt>
      <dd>
        <Outcome outcome={request.outcome} />
      </dd>
      <dt>Model</dt>
      <dd>{request.model}</dd>
      <dt>Format</dt>
      <dd>
        {FORMAT_WORDS[request.format]}
        {request.stream ? ', stream' : ''}
      </dd>
      <dt>Counts from</dt>
      <dd>{BASIS_WORDS[request.basis]}</dd>
      <dt>Started</dt>
      <dd>
        <Moment iso={request.started_at} />
      </dd>
      <dt>First byte</dt>
      <dd>{request.first_byte_ms === null ? 'none' : `after ${showDuration(request.first_byte_ms)}`}</dd>
      <dt>Ended</dt>
      <dd>after {showDuration(request.duration_ms)}</dd>
      <dt>Status</dt>
      <dd>{request.status}</dd>
      <dt>Provider calls</dt>
      <dd>{request.attempts}</dd>
      {more}
    </dl>
  </div>
)

/** The decimal places of all amounts: enough for every digit, so that the prices add up to the cost as shown. */
const placesOf = ({ lines, cost_usd_exact }: RequestDetail): number =>
  Math.max(
    6,
    ...[cost_usd_exact, ...lines.map(({ price_usd_exact }) => price_usd_exact)].map((exact) => (exact.split('.')[1] ?? '').length),
  )

/** The rate of a line. Tokens have prices by the million, as is usual. */
const Rate = ({ item, rate_usd_exact }: RequestDetail['lines'][number]) => (
  <data value={rate_usd_exact} title={`${rate_usd_exact} USD each`}>
    {item === 'server_tool_uses' ? `${showPrice(rate_usd_exact)} each` : `${showPerMillion(rate_usd_exact)} / 1M`}
  </data>
)

const Computation = ({ request }: Readonly<{ request: RequestDetail }>) => (
  <Table
    label="How the cost was computed"
    columns={[
      {
        name: 'Counted',
        cell: (line) => (
          <>
            {ITEM_WORDS[line.item]}
            <span class="on-phone quiet">
              {showCount(line.count)} × <Rate {...line} />
            </span>
          </>
        ),
      },
      { name: 'Count', isFigure: true, isWide: true, cell: ({ count }) => showCount(count) },
      { name: 'Rate', isFigure: true, isWide: true, cell: (line) => <Rate {...line} /> },
      { name: 'Price', isFigure: true, cell: ({ price_usd_exact }) => <Usd exact={price_usd_exact} places={placesOf(request)} /> },
    ]}
    rows={request.lines}
    keyOf={({ item }) => item}
    foot={['Charged', '', '', <Usd key="sum" exact={request.cost_usd_exact} places={placesOf(request)} />]}
  />
)
