/** The keys of an account, each with its state, its spend and its running requests; owners make and change keys. Rules: pages.md "Keys of an account". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Column } from '../../parts/columns.ts'
import { useKeyset } from '../../parts/keyset.ts'
import { Meter, shareOf } from '../../parts/meter.tsx'
import { asked, LeftOut, useHidden, useListChoice } from '../../parts/order.tsx'
import { rateWords } from '../../parts/rate-words.ts'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { usdNumber } from '../../parts/show-usd.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { type AccountPageProps, pathOf } from '../account-path.ts'
import { keyTitle } from '../key-title.ts'
import { type Key, keysOf, useRunning } from '../keys-api.ts'
import { searchOf } from '../spend-view.ts'
import { ChangeKey } from './change-key.tsx'
import { AccountBudgets } from './key-budgets.tsx'
import { stateWords, WORDS } from './keys.words.ts'
import { MakeKey } from './make-key.tsx'

export const Keys = ({ account }: AccountPageProps) => {
  const isOwner = account.role === 'owner'
  const { cursor, hasNewer, older, newer, first } = useKeyset()
  const [changing, setChanging] = useState<string>()
  const order = useListChoice('order')
  const hidden = useHidden()
  const query = { ...asked(order, hidden.isHiding), ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(() => keysOf(account.id).get({ query }), [account.id, JSON.stringify(query)])
  // A key that is disabled in the dialog leaves the list and stays in the dialog.
  const one = useAsked(changing === undefined ? undefined : () => keysOf(account.id)({ keyId: changing }).get(), [account.id, changing])
  const running = useRunning(account.id, again)
  const [isMaking, setMaking] = useState(false)
  const [isBudgeting, setBudgeting] = useState(false)
  const shown = [...(loaded.value?.data ?? []), one.loaded.value].find((key) => key?.id === changing)
  const make = () => (
    <button type="button" class="primary" onClick={() => setMaking(true)}>
      {WORDS.make}
    </button>
  )
  return (
    <>
      <PageHead title={WORDS.title} lede={WORDS.lede}>
        <button type="button" onClick={() => setBudgeting(true)}>
          {WORDS.budgets}
        </button>
        {isOwner && make()}
      </PageHead>
      <Show loaded={loaded} again={again} lines={8}>
        {({ data, next_cursor, ordered }) =>
          data.length === 0 && !hasNewer && (ordered?.left_out ?? 0) === 0 ? (
            <Empty title={WORDS.none}>
              <p>{isOwner ? WORDS.noneLede : WORDS.noneReader}</p>
              {isOwner && make()}
            </Empty>
          ) : (
            <>
              {data[0]?.is_account_active === false && <p class="note bad">{WORDS.accountOff}</p>}
              <LeftOut ordered={ordered} {...hidden} what="keys" />
              <Table
                label="Keys"
                columns={columnsOf(account.id, running, isOwner ? setChanging : undefined)}
                rows={data}
                keyOf={({ id }) => id}
                order={order}
                kept="keys"
              />
              <Pager hasNewer={hasNewer} next={next_cursor} older={older} newer={newer} isOrdered={order.value !== ''} />
            </>
          )
        }
      </Show>
      {isBudgeting && <AccountBudgets accountId={account.id} isOwner={isOwner} close={() => setBudgeting(false)} />}
      {isMaking && (
        <MakeKey
          accountId={account.id}
          made={() => {
            first()
            again()
          }}
          close={() => setMaking(false)}
        />
      )}
      {shown !== undefined && (
        <ChangeKey
          accountId={account.id}
          shown={shown}
          changed={() => {
            again()
            one.again()
          }}
          close={() => setChanging(undefined)}
        />
      )}
    </>
  )
}

/** `change`: undefined for members who only look. */
function columnsOf(
  accountId: string,
  running: Readonly<Record<string, number>> | undefined,
  change: ((keyId: string) => void) | undefined,
): readonly Column<Key>[] {
  const now = Date.now()
  return [
    {
      name: 'Key',
      order: 'name',
      cell: ({ id, name, display, rates, plan_rates }) => (
        <div class="named">
          <a class="name" href={`${pathOf(accountId, 'requests')}${searchOf({ key: id })}`} title="Its requests">
            {keyTitle({ id, name })}
          </a>
          <code>{display}</code>
          {rates !== null && <span class="quiet">{WORDS.ownRates(rateWords(rates))}</span>}
          {plan_rates !== null && <span class="quiet">{WORDS.planRates(rateWords(plan_rates))}</span>}
        </div>
      ),
    },
    {
      name: 'State',
      onCard: 'first',
      cell: (key) => {
        const [mood, text] = stateWords(key, now)
        return <Badge mood={mood} text={text} />
      },
    },
    {
      name: 'Running now',
      isFigure: true,
      cell: ({ id, running_requests }) => {
        const count = running === undefined ? running_requests : (running[id] ?? 0)
        return count === 0 ? <span class="quiet">0</span> : <strong>{showCount(count)}</strong>
      },
    },
    {
      name: 'Spent',
      order: 'spent',
      onCard: 'first',
      usd: ({ spent_usd }) => spent_usd,
      cell: ({ spent_usd, limit_usd }, places) => (
        <div class="spent">
          <Usd exact={spent_usd} places={places} />
          {limit_usd !== null && (
            <>
              <span class="quiet">
                {' '}
                of <Usd exact={limit_usd} />
              </span>
              <Meter share={shareOf(usdNumber(spent_usd), usdNumber(limit_usd))} />
            </>
          )}
        </div>
      ),
    },
    {
      name: 'Expires',
      order: 'expires',
      cell: ({ expires_at }) => (expires_at === null ? <span class="quiet">never</span> : <Ago iso={expires_at} />),
    },
    {
      name: 'Last use',
      order: 'last_used',
      cell: ({ last_used_at }) => (last_used_at === null ? <span class="quiet">never</span> : <Ago iso={last_used_at} />),
    },
    ...(change === undefined
      ? []
      : [
          {
            name: 'Change',
            isQuiet: true,
            isFigure: true,
            onCard: 'corner' as const,
            cell: ({ id, name, display }: Key) => (
              <button type="button" class="small" aria-label={`Change ${name === '' ? display : name}`} onClick={() => change(id)}>
                Change
              </button>
            ),
          },
        ]),
  ]
}
