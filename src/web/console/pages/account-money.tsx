/** The money of an account as operators see it: figures, what is held by which request, credits. Rules: operator.md "Credits"; money.md "Holds". */

import { type Got, useAsked } from '../../parts/ask.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { showCount } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { api } from '../api.ts'
import { Actor } from './actor.tsx'

type One = ReturnType<typeof api.accounts>
export type Account = Got<One['get']>
type Credit = Got<One['credits']['get']>['data'][number]
type Hold = Account['holds'][number]

export const Figures = ({ account }: Readonly<{ account: Account }>) => (
  <dl class="figures">
    <div>
      <dt>Balance</dt>
      <dd>
        <Usd exact={account.balance_usd} />
      </dd>
      <dd>
        {account.topped_up_at === null ? (
          'never topped up'
        ) : (
          <>
            topped up <Ago iso={account.topped_up_at} />
          </>
        )}
      </dd>
    </div>
    <div>
      <dt>Held now</dt>
      <dd>
        <Usd exact={account.held_usd} />
      </dd>
      <dd>{account.held_requests === 0 ? 'no request runs' : `${showCount(account.held_requests)} running`}</dd>
    </div>
    <div>
      <dt>Credited</dt>
      <dd>
        <Usd exact={account.credited_usd} />
      </dd>
      <dd>in all</dd>
    </div>
    <div>
      <dt>Spent</dt>
      <dd>
        <Usd exact={account.spent_usd} />
      </dd>
      <dd>
        {account.last_used_at === null ? (
          'never used'
        ) : (
          <>
            last <Ago iso={account.last_used_at} />
          </>
        )}
      </dd>
    </div>
  </dl>
)

/** The requests for which money is held: each running request reserves its worst-case price. */
export const Holds = ({ account }: Readonly<{ account: Account }>) => (
  <section class="stack" aria-label="Held money">
    <h2>Held by running requests</h2>
    <Table
      label="Holds"
      columns={[
        { name: 'Since', cell: ({ started_at }: Hold) => <Moment iso={started_at} /> },
        { name: 'Held', onCard: 'first', usd: ({ amount_usd }) => amount_usd },
        { name: 'Model', cell: ({ model, stream }) => `${model}${stream ? ', stream' : ''}` },
        { name: 'Key', cell: ({ key_id, key_name }) => <span title={key_id}>{key_name || key_id}</span> },
        { name: 'Request', cell: ({ request_id }) => <code>{request_id}</code> },
      ]}
      rows={account.holds}
      keyOf={({ request_id }) => request_id}
    />
    {account.held_requests > account.holds.length && (
      <p class="lede">
        The {showCount(account.holds.length)} oldest of {showCount(account.held_requests)}.
      </p>
    )}
  </section>
)

export const Credits = ({ accountId, turn }: Readonly<{ accountId: string; turn: number }>) => {
  const pages = useKeyset('credits_after')
  const { cursor } = pages
  const query = cursor === undefined ? {} : { after: cursor }
  const { loaded, again } = useAsked(() => api.accounts({ accountId }).credits.get({ query }), [accountId, cursor, turn])
  return (
    <section class="stack" aria-label="Credits">
      <h2>Credits</h2>
      <Show loaded={loaded} again={again}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="Nothing was credited yet" />
            ) : (
              <Table
                label="Credits"
                columns={[
                  { name: 'When', cell: ({ created_at }: Credit) => <Moment iso={created_at} /> },
                  { name: 'Amount', onCard: 'first', usd: ({ amount_usd }) => amount_usd },
                  { name: 'Kind', onCard: 'first', cell: ({ kind }) => kind },
                  { name: 'By', cell: ({ actor }) => <Actor actor={actor} /> },
                  { name: 'Reference', onCard: 'line', cell: ({ ref }) => <span class="breaks">{ref}</span> },
                  { name: 'Reason', onCard: 'line', cell: ({ reason }) => <span class="breaks">{reason}</span> },
                ]}
                rows={data}
                keyOf={({ id }) => id}
              />
            )}
            <Pager {...pages} next={next_cursor} />
          </>
        )}
      </Show>
    </section>
  )
}
