/** One batch of codes: the redeemed ones with their accounts, and taking back the others. Rules: pages.md "Codes". */

import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge, stateText } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showCount, showDate } from '../../parts/show-time.ts'
import { showUsd } from '../../parts/show-usd.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { STATES } from './codes.tsx'

type Opened = Got<ReturnType<typeof api.codes>['get']>

export const CodeBatchPage = () => {
  const batch = useRoute().params['batch'] ?? ''
  const { loaded, again } = useAsked(() => api.codes({ batch }).get(), [batch])
  const [isAsking, setAsking] = useState(false)
  return (
    <Show loaded={loaded} again={again} lines={12}>
      {(found) => (
        <>
          <PageHead title={found.name === '' ? 'Codes' : found.name}>
            {found.state !== 'disabled' && (
              <button type="button" class="danger" onClick={() => setAsking(true)}>
                Take back…
              </button>
            )}
          </PageHead>
          <div class="titled">
            <Badge mood={STATES[found.state]} text={stateText(found.state)} />
            <CopyText text={found.id} label="batch id" />
          </div>
          <p>
            {showCount(found.count)} codes of {showUsd(found.amount_usd)}, {showCount(found.redeemed)} redeemed,{' '}
            {found.expires_at === null ? 'without an end' : `good until ${showDate(found.expires_at)}`}.
          </p>
          <Codes codes={found.data} />
          {isAsking && (
            <ActDialog
              title="Take back what is not redeemed"
              button="Take back"
              kind="danger"
              close={() => setAsking(false)}
              send={({ reason }) => api.codes({ batch: found.id }).disable.post({ reason })}
              done={() => {
                tell('The rest of this batch can no longer be redeemed')
                setAsking(false)
                again()
              }}
            >
              {() => (
                <p>
                  {showCount(found.count - found.redeemed)} codes are useless from then on. It cannot be undone; what was redeemed stays.
                </p>
              )}
            </ActDialog>
          )}
        </>
      )}
    </Show>
  )
}

const Codes = ({ codes }: Readonly<{ codes: Opened['data'] }>) => (
  <Table
    label="Codes"
    columns={[
      { name: 'No', isFigure: true, by: ({ place }) => place, cell: ({ place }: Opened['data'][number]) => showCount(place) },
      { name: 'Code', cell: ({ code }) => <code>{code}</code> },
      {
        name: 'Redeemed by',
        by: ({ account_id, account_name }) => account_name || account_id,
        cell: ({ account_id, account_name }) =>
          account_id === null ? (
            <span class="quiet">not redeemed</span>
          ) : (
            <a href={`/console/accounts/${account_id}`} title={account_id}>
              {account_name || account_id}
            </a>
          ),
      },
      {
        name: 'When',
        by: ({ redeemed_at }) => redeemed_at,
        cell: ({ redeemed_at }) => (redeemed_at === null ? '' : <Moment iso={redeemed_at} />),
      },
    ]}
    rows={codes}
    keyOf={({ place }) => String(place)}
    isAll
  />
)
