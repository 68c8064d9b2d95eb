/** Figures at a glance: what the account has now, and what it used in the chosen time. */

import { showCount } from '../../parts/show-time.ts'
import { showUsd, usdNumber } from '../../parts/show-usd.ts'
import { Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { keyTitle } from '../key-title.ts'
import type { Spend, Summary } from '../spend-api.ts'
import { changesWords, runwayWords, WORDS, weekWords } from './spend.words.ts'

export const NowFigures = ({ now }: Readonly<{ now: Summary }>) => (
  <section class="stack tight" aria-label="Now">
    <dl class="figures">
      <div>
        <dt>Balance</dt>
        <dd>
          <Usd exact={now.balance_usd} />
        </dd>
        <dd>{runwayWords(now.runway_days, showUsd(now.a_day_usd))}</dd>
      </div>
      <div>
        <dt>Held now</dt>
        <dd>
          <Usd exact={now.held_usd} />
        </dd>
        <dd>{now.running_requests === 0 ? WORDS.noneHeld : `by ${requestsText(now.running_requests)}`}</dd>
      </div>
      <div>
        <dt>Last 7 whole days</dt>
        <dd>
          <Usd exact={now.week_usd} />
        </dd>
        <dd>{weekWords(now.week_usd, now.week_before_usd)}</dd>
        {now.week_changes.length > 0 && <dd>{changesWords(now.week_changes)}</dd>}
      </div>
    </dl>
    <Held now={now} />
  </section>
)

const requestsText = (count: number): string => (count === 1 ? '1 running request' : `${showCount(count)} running requests`)

const Held = ({ now: { holds, running_requests } }: Readonly<{ now: Summary }>) => (
  <details class="more">
    <summary>Why money is held</summary>
    <div class="stack tight">
      <p class="quiet">{WORDS.held}</p>
      {holds.length > 0 && (
        <Table
          label="Held by running requests"
          columns={[
            { name: 'Since', cell: ({ started_at }) => <Ago iso={started_at} /> },
            { name: 'Held', onCard: 'first', usd: ({ held_usd }) => held_usd },
            { name: 'Model', onCard: 'first', cell: ({ model }) => model },
            { name: 'Key', cell: ({ key_id, key_name }) => <span class="cut block">{keyTitle({ id: key_id, name: key_name })}</span> },
          ]}
          rows={holds}
          keyOf={({ request_id }) => request_id}
        />
      )}
      {holds.length < running_requests && <p class="quiet">and {showCount(running_requests - holds.length)} more</p>}
    </div>
  </details>
)

export const RangeFigures = ({ total }: Readonly<{ total: Spend['total'] }>) => {
  const saved = usdNumber(total.saved_usd)
  return (
    <dl class="figures">
      <div>
        <dt>Spent</dt>
        <dd>
          <Usd exact={total.cost_usd} />
        </dd>
        <dd>
          {usdNumber(total.estimated_usd) === 0 ? (
            'from the providers’ figures'
          ) : (
            <>
              <Usd exact={total.estimated_usd} /> of it estimated
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Requests</dt>
        <dd>{showCount(total.requests)}</dd>
        <dd>that were booked</dd>
      </div>
      <div>
        <dt>{saved < 0 ? 'Lost by the cache' : 'Saved by the cache'}</dt>
        <dd>
          <Usd exact={total.saved_usd} />
        </dd>
        <dd>{saved < 0 ? WORDS.lost : saved === 0 ? WORDS.noCache : WORDS.saved}</dd>
      </div>
      <div>
        <dt>Not charged</dt>
        <dd>
          <Usd exact={total.waived_usd} />
        </dd>
        <dd>{WORDS.waived}</dd>
      </div>
    </dl>
  )
}
