/** One request as operators see it: its computation, its hold, the upstream with its ids, and the upstream calls without a receipt. Rules: operator.md "Lists". */

import { useRoute } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { RequestOpened } from '../../parts/requests.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount, showDuration } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { api } from '../api.ts'

type Opened = Got<ReturnType<typeof api.requests>['get']>
type Request = NonNullable<Opened['request']>
type Attempt = Opened['other_attempts'][number]

export const RequestPage = () => {
  const requestId = useRoute().params['requestId'] ?? ''
  const { loaded, again } = useAsked(() => api.requests({ requestId }).get(), [requestId])
  return (
    <>
      <PageHead title="Request" />
      <Show loaded={loaded} again={again} lines={14}>
        {({ request, request_id, other_attempts }) => (
          <div class="parts">
            {request === null ? (
              <p class="note">
                There is no receipt of <code>{request_id}</code>: its client paid nothing.
              </p>
            ) : (
              <RequestOpened request={request} more={<OfOperators request={request} />} />
            )}
            {other_attempts.length > 0 && <Attempts attempts={other_attempts} />}
          </div>
        )}
      </Show>
    </>
  )
}

const OfOperators = ({ request }: Readonly<{ request: Request }>) => {
  const { upstream } = request
  return (
    <>
      <dt>Account</dt>
      <dd>
        <a href={`/console/accounts/${request.account_id}`} title={request.account_id}>
          {request.account_name || request.account_id}
        </a>
      </dd>
      <dt>Key</dt>
      <dd>
        <a href={`/console/requests?key_id=${request.key_id}`} title={request.key_id}>
          {request.key_name || request.key_id}
        </a>
      </dd>
      <dt>Held</dt>
      <dd>
        <Usd exact={request.hold_usd} />
        {request.over_hold_usd !== null && (
          <>
            , and <Usd exact={request.over_hold_usd} /> more was charged
          </>
        )}
      </dd>
      {request.bytes_per_token !== null && (
        <>
          <dt>Estimate</dt>
          <dd>{request.bytes_per_token} bytes a token</dd>
        </>
      )}
      <dt>Upstream</dt>
      <dd>{upstream === null ? 'none answered' : `${upstream.name}, as ${upstream.model}`}</dd>
      {upstream !== null && (
        <>
          <dt>Its ids</dt>
          <dd>{[upstream.message_id, upstream.request_id].filter((id) => id !== null).join(', ') || 'none'}</dd>
        </>
      )}
    </>
  )
}

const Attempts = ({ attempts }: Readonly<{ attempts: readonly Attempt[] }>) => (
  <section class="stack" aria-label="Other upstream calls">
    <h2>Other upstream calls</h2>
    <p class="lede">They may have cost us money; the client did not pay for them.</p>
    <Table
      label="Other upstream calls"
      columns={[
        { name: 'No', isFigure: true, cell: ({ number }: Attempt) => showCount(number) },
        { name: 'Upstream', cell: ({ upstream }) => `${upstream.name}, as ${upstream.model}` },
        { name: 'Cause', onCard: 'first', cell: ({ cause, status }) => (status === null ? cause : `${cause} (${status})`) },
        { name: 'Price', onCard: 'first', usd: ({ price_usd }) => price_usd },
        { name: 'Tokens in', isFigure: true, cell: ({ input_tokens }) => showCount(input_tokens) },
        { name: 'Tokens out', isFigure: true, cell: ({ output_tokens }) => showCount(output_tokens) },
        { name: 'Began', cell: ({ started_at }) => <Moment iso={started_at} /> },
        { name: 'Took', isFigure: true, cell: ({ duration_ms }) => showDuration(duration_ms) },
        { name: 'Its ids', cell: ({ upstream }) => [upstream.message_id, upstream.request_id].filter((id) => id).join(', ') },
      ]}
      rows={attempts}
      keyOf={({ number }) => String(number)}
    />
  </section>
)
