/** Keys in a table, each with the acts that an operator may do. Rules: keys.md "State of a key", "Expiry and rotation". */

import { useState } from 'preact/hooks'
import { Badge, type Mood, stateText } from '../../parts/badge.tsx'
import type { Column, Order } from '../../parts/columns.ts'
import { rateWords } from '../../parts/rate-words.ts'
import { RowMenu } from '../../parts/row-menu.tsx'
import { Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { ChangeKey, type KeyChange } from './change-key.tsx'
import type { Key } from './key-dialog.ts'

const MOODS: Readonly<Record<string, Mood>> = { live: 'good', expired: 'wary', disabled: 'bad' }

const CHANGES: readonly (readonly [KeyChange, string])[] = [
  ['change', 'Change…'],
  ['budgets', 'Budgets…'],
  ['rates', 'Rates…'],
  ['extend', 'Extend…'],
  ['rotate', 'Rotate…'],
]

export const KeyTable = ({ keys, changed, order }: Readonly<{ keys: readonly Key[]; changed: () => void; order: Order }>) => {
  const [open, setOpen] = useState<Readonly<{ key: Key; change: KeyChange }>>()
  const close = (): void => setOpen(undefined)
  const account: readonly Column<Key>[] = keys.some(({ account_id }) => account_id !== undefined)
    ? [
        {
          name: 'Account',
          order: 'account',
          cell: ({ account_id, account_name }) => <Owner id={account_id} name={account_name} />,
        },
      ]
    : []
  return (
    <>
      <Table
        label="Keys"
        columns={[
          {
            name: 'Key',
            order: 'name',
            cell: ({ id, name, display }: Key) => (
              <span class="named">
                <a class="name" href={`/console/requests?key_id=${id}`} title={`Requests of ${id}`}>
                  {name || id}
                </a>
                <code>{display}</code>
              </span>
            ),
          },
          { name: 'State', onCard: 'first', cell: ({ state, is_limit_used }) => <KeyState state={state} isLimitUsed={is_limit_used} /> },
          ...account,
          {
            name: 'Spent',
            order: 'spent',
            onCard: 'first',
            usd: ({ spent_usd }) => spent_usd,
            cell: ({ spent_usd, limit_usd }, places) => (
              <>
                <Usd exact={spent_usd} places={places} />
                {limit_usd !== null && (
                  <span class="quiet on-card">
                    {' '}
                    of <Usd exact={limit_usd} />
                  </span>
                )}
              </>
            ),
          },
          { name: 'Limit', order: 'limit', usd: ({ limit_usd }) => limit_usd },
          ...(keys.some(({ rates }) => rates !== null)
            ? [{ name: 'Rates', cell: ({ rates }: Key) => (rates === null ? 'of its plan' : rateWords(rates)) }]
            : []),
          { name: 'Expires', order: 'expires', cell: ({ expires_at }) => (expires_at === null ? 'never' : <Ago iso={expires_at} />) },
          {
            name: 'Last use',
            order: 'last_used',
            cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago iso={last_used_at} />),
          },
          {
            name: 'Change',
            isQuiet: true,
            onCard: 'corner',
            cell: (key) => (
              <RowMenu
                of={key.name || key.id}
                acts={[...CHANGES, ['state', key.is_active ? 'Disable…' : 'Enable…'] as const].map(([change, text]) => ({
                  text,
                  run: () => setOpen({ key, change }),
                }))}
              />
            ),
          },
        ]}
        rows={keys}
        keyOf={({ id }) => id}
        order={order}
        kept="console keys"
      />
      {open !== undefined && <ChangeKey keyOf={open.key} change={open.change} close={close} changed={changed} />}
    </>
  )
}

const Owner = ({ id = '', name = '' }: Readonly<{ id: string | undefined; name: string | undefined }>) => (
  <a class="owner" href={`/console/accounts/${id}`} title={id}>
    {name || id}
  </a>
)

const KeyState = ({ state, isLimitUsed }: Readonly<{ state: string; isLimitUsed: boolean }>) =>
  state === 'live' && isLimitUsed ? <Badge mood="wary" text="limit used" /> : <Badge mood={MOODS[state] ?? 'bad'} text={stateText(state)} />
