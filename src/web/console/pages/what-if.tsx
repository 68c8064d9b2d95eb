/** What past requests would have cost under the file that a reload would read, by model and account. Rules: pages.md "Catalog"; money.md "What if". */

import type { ComponentChildren } from 'preact'
import { type Got, useAsked } from '../../parts/ask.ts'
import { counted, showCount } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { Usd } from '../../parts/usd.tsx'
import { api } from '../api.ts'
import { NamedSettings } from './named-settings.tsx'

type Answer = Got<typeof api.catalog.repriced.get>
type Sum = Answer['total']

export const WhatIf = ({ turn }: Readonly<{ turn: number }>) => {
  const { loaded, again } = useAsked(() => api.catalog.repriced.get(), [turn])
  return (
    <section class="card" aria-label="What past requests would have cost">
      <h2>What past requests would have cost</h2>
      <Show loaded={loaded} again={again} lines={4}>
        {(answer) => <Answered answer={answer} />}
      </Show>
    </section>
  )
}

const Answered = ({ answer }: Readonly<{ answer: Answer }>) => {
  const { problems, from, cut_at, total, models, accounts, more_accounts } = answer
  if (problems.length > 0)
    return (
      <div class="note bad" role="status">
        <p>Nothing was compared: the file has mistakes.</p>
        <NamedSettings rows={problems} />
      </div>
    )
  return (
    <div class="stack">
      <p role="status">
        {counted(total.receipts, 'receipt')} since <Moment iso={cut_at ?? from} />: <Usd exact={total.charged_usd} /> charged,{' '}
        <Usd exact={total.repriced_usd} /> under the file.
      </p>
      {cut_at !== null && <p class="note wary">There are older requests of these 30 days; only the newest were compared.</p>}
      <Sums
        label="Receipts by model"
        name="Model"
        rows={models.filter(({ missing }) => missing.receipts === 0)}
        titleOf={({ model }) => model}
        nameOf={({ model }) => <code>{model}</code>}
        keyOf={({ model }) => model}
        total={total}
      />
      <Sums
        label="Receipts by account"
        name="Account"
        rows={accounts}
        titleOf={({ account_id, name }) => name || account_id}
        nameOf={({ account_id, name }) => (
          <a href={`/console/accounts/${account_id}`} title={account_id}>
            {name || account_id}
          </a>
        )}
        keyOf={({ account_id }) => account_id}
      />
      {more_accounts > 0 && <p class="quiet">And {counted(more_accounts, 'account')} with smaller differences.</p>}
      {total.waived.receipts > 0 && (
        <p>
          {counted(total.waived.receipts, 'receipt')} waived: <Usd exact={total.waived.waived_usd} /> as priced then,{' '}
          <Usd exact={total.waived.repriced_usd} /> under the file.
        </p>
      )}
      {total.missing.receipts > 0 && <Missing models={models} total={total} />}
    </div>
  )
}

const Missing = ({ models, total }: Readonly<{ models: Answer['models']; total: Sum }>) => (
  <div class="note wary">
    <p>
      {counted(total.missing.receipts, 'receipt')} of models that the file does not have, charged <Usd exact={total.missing.charged_usd} />:
    </p>
    <ul>
      {models
        .filter(({ missing }) => missing.receipts > 0)
        .map(({ model, missing }) => (
          <li key={model}>
            <code>{model}</code> {counted(missing.receipts, 'receipt')}, <Usd exact={missing.charged_usd} />
          </li>
        ))}
    </ul>
  </div>
)

function Sums<Row extends Sum>({
  label,
  name,
  rows,
  titleOf,
  nameOf,
  keyOf,
  total,
}: Readonly<{
  label: string
  name: string
  rows: readonly Row[]
  /** What the name is ordered by. */
  titleOf: (row: Row) => string
  nameOf: (row: Row) => ComponentChildren
  keyOf: (row: Row) => string
  total?: Sum
}>) {
  return (
    <Table
      label={label}
      columns={[
        { name, by: titleOf, cell: nameOf },
        { name: 'Receipts', isFigure: true, by: ({ receipts }: Row) => receipts, cell: ({ receipts }) => showCount(receipts) },
        { name: 'Charged', onCard: 'first', usd: ({ charged_usd }) => charged_usd },
        { name: 'Repriced', usd: ({ repriced_usd }) => repriced_usd },
        {
          name: 'Difference',
          onCard: 'first',
          usd: ({ difference_usd }) => difference_usd,
          cell: ({ difference_usd }, places) => <Difference exact={difference_usd} places={places} />,
        },
      ]}
      rows={rows}
      keyOf={keyOf}
      isAll
      {...(total === undefined
        ? {}
        : {
            foot: [
              'Total',
              showCount(total.receipts),
              total.charged_usd,
              total.repriced_usd,
              <Difference key="difference" exact={total.difference_usd} />,
            ],
          })}
    />
  )
}

/** A difference in cost; a higher cost has a plus sign. */
const Difference = ({ exact, places }: Readonly<{ exact: string; places?: number }>) => (
  <data class="usd" value={exact} title={`${exact} USD`}>
    {exact.startsWith('-') || exact === '0' ? '' : '+'}
    {showUsd(exact, places)}
  </data>
)
