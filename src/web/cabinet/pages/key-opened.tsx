/** A pasted key: what it may still spend, its days and its requests. */

import type { Static } from 'elysia'
import { useState } from 'preact/hooks'
import type { DAILY } from '../../../http/usage-documents.ts'
import { type Loaded, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { WindowLeft } from '../../parts/budgets.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { Meter, shareOf } from '../../parts/meter.tsx'
import { RequestOpened, Requests } from '../../parts/requests.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount, showDate, showDay } from '../../parts/show-time.ts'
import { Empty, Failed, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import type { KeyApi } from '../key-api.ts'
import { BUDGET_OF_WORDS, failureWords, KEY_WORDS, REFUSED_WORDS } from './key.words.ts'

export const KeyOpened = ({ api, forget }: Readonly<{ api: KeyApi; forget: () => void }>) => {
  const [turn, setTurn] = useState(0)
  const refresh = (): void => setTurn((before) => before + 1)
  const { loaded: balance } = useAsked(api.balance, [turn])
  const known = balance.value
  return (
    <>
      <PageHead title={KEY_WORDS.title}>
        <button type="button" onClick={refresh}>
          {KEY_WORDS.refresh}
        </button>
        <button type="button" onClick={forget}>
          {KEY_WORDS.forget}
        </button>
      </PageHead>
      {balance.state === 'failed' && <Failed message={wordsOf(balance)} again={refresh} />}
      {known?.is_active === false && (
        <>
          <dl class="figures">
            <div>
              <dt>Balance</dt>
              <dd>
                <Usd exact={String(known.balance_usd)} />
              </dd>
            </div>
          </dl>
          <p class="note bad">{KEY_WORDS.disabled}</p>
        </>
      )}
      {known?.is_active === true && (
        <>
          <Status api={api} turn={turn} refresh={refresh} />
          <Days api={api} turn={turn} refresh={refresh} />
          <KeyRequests api={api} turn={turn} refresh={refresh} />
        </>
      )}
    </>
  )
}

const wordsOf = (loaded: Extract<Loaded<unknown>, { state: 'failed' }>): string =>
  failureWords(loaded.failure.status, loaded.failure.message, loaded.failure.retryAfterS)

type Part = Readonly<{ api: KeyApi; turn: number; refresh: () => void }>

const Status = ({ api, turn, refresh }: Part) => {
  const { loaded } = useAsked(api.key, [turn])
  return (
    <Show loaded={loaded} again={refresh} lines={6}>
      {(key) => (
        <section class="stack" aria-label="State of the key">
          <h2 class="titled">
            {key.name === '' ? <code>{key.key}</code> : key.name}
            {key.would_be_refused === null ? <Badge mood="good" text="active" /> : <Badge mood="wary" text="refused now" />}
          </h2>
          <dl class="figures">
            <div>
              <dt>May still spend</dt>
              <dd>
                <Usd exact={key.available_usd_exact} />
              </dd>
              <dd>the lesser of its account’s balance and its limit</dd>
            </div>
            <div>
              <dt>Spent</dt>
              <dd>
                <Usd exact={key.spent_usd_exact} />
              </dd>
              <dd>
                {key.limit_usd_exact === null ? (
                  'no limit'
                ) : (
                  <>
                    of <Usd exact={key.limit_usd_exact} />
                    <Meter share={shareOf(key.spent_usd ?? 0, key.limit_usd ?? 0)} />
                  </>
                )}
              </dd>
            </div>
            <div>
              <dt>Running now</dt>
              <dd>{showCount(key.running_requests)}</dd>
              <dd>
                <Usd exact={key.held_usd_exact} /> reserved
              </dd>
            </div>
            <div>
              <dt>Expires</dt>
              <dd>{key.expires_at === null ? 'never' : showDate(key.expires_at)}</dd>
              <dd>{key.expires_at !== null && <Ago iso={key.expires_at} />}</dd>
            </div>
          </dl>
          {key.budgets.map((budget) => (
            <p class="note" key={`${budget.per} ${budget.limit_usd_exact}`}>
              <WindowLeft left={budget.left_usd_exact} limit={budget.limit_usd_exact} per={budget.per} resetsAt={budget.resets_at} /> (
              {BUDGET_OF_WORDS[budget.of]})
            </p>
          ))}
          {key.would_be_refused === null ? (
            <p class="note">{KEY_WORDS.admitted}</p>
          ) : (
            <p class="note wary">
              {REFUSED_WORDS[key.would_be_refused.reason]}{' '}
              {key.would_be_refused.retry_after_seconds !== null && `Try again in ${key.would_be_refused.retry_after_seconds} s.`}
            </p>
          )}
          <dl class="facts">
            <dt>Key</dt>
            <dd>
              <code>{key.key}</code>
            </dd>
            <dt>Plan</dt>
            <dd>{key.plan}</dd>
            <dt>Made</dt>
            <dd>
              <Moment iso={key.created_at} />
            </dd>
          </dl>
        </section>
      )}
    </Show>
  )
}

type Day = Static<typeof DAILY>['data'][number]

const Days = ({ api, turn, refresh }: Part) => {
  const { loaded } = useAsked(api.days, [turn])
  return (
    <section class="stack">
      <h2>The last 30 days</h2>
      <Show loaded={loaded} again={refresh}>
        {({ data, total }) =>
          data.length === 0 ? (
            <Empty title={KEY_WORDS.noDays} />
          ) : (
            <Table<Day>
              label="Days"
              columns={[
                { name: 'Day (UTC)', cell: ({ date }) => <time dateTime={date}>{showDay(date)}</time> },
                { name: 'Model', cell: ({ model }) => model },
                { name: 'Requests', isFigure: true, cell: ({ requests }) => showCount(requests) },
                { name: 'Input', isFigure: true, cell: ({ usage }) => showCount(usage.input_tokens) },
                { name: 'Cache read', isFigure: true, cell: ({ usage }) => showCount(usage.cache_read_input_tokens) },
                { name: 'Cache write', isFigure: true, cell: ({ usage }) => showCount(usage.cache_creation_input_tokens) },
                { name: 'Output', isFigure: true, cell: ({ usage }) => showCount(usage.output_tokens) },
                { name: 'Cost', usd: ({ cost_usd_exact }) => cost_usd_exact },
              ]}
              rows={data}
              keyOf={({ date, model }) => `${date} ${model}`}
              foot={['Sum', '', showCount(total.requests), '', '', '', '', total.cost_usd_exact]}
            />
          )
        }
      </Show>
    </section>
  )
}

const KeyRequests = ({ api, turn, refresh }: Part) => {
  const { cursor, hasNewer, older, newer } = useKeyset()
  const [opened, setOpened] = useState<string>()
  const { loaded } = useAsked(() => api.requests(cursor), [turn, cursor])
  return (
    <section class="stack">
      <h2>Requests</h2>
      <Show loaded={loaded} again={refresh}>
        {({ data, next_cursor }) =>
          data.length === 0 && !hasNewer ? (
            <Empty title={KEY_WORDS.noRequests} />
          ) : (
            <>
              <Requests rows={data} open={setOpened} />
              <Pager hasNewer={hasNewer} next={next_cursor} older={older} newer={newer} />
            </>
          )
        }
      </Show>
      {opened !== undefined && <Opened api={api} id={opened} close={() => setOpened(undefined)} />}
    </section>
  )
}

const Opened = ({ api, id, close }: Readonly<{ api: KeyApi; id: string; close: () => void }>) => {
  const { loaded, again } = useAsked(() => api.request(id), [id])
  return (
    <Dialog title="Request" close={close}>
      <Show loaded={loaded} again={again} lines={12}>
        {(request) => <RequestOpened request={request} />}
      </Show>
    </Dialog>
  )
}
