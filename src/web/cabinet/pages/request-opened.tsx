/** One request of the account: how its cost came about, how it ended, and which other calls were made for it. */

import { useAsked } from '../../parts/ask.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { RequestOpened } from '../../parts/requests.tsx'
import { showDuration } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { spendApi } from '../spend-api.ts'
import { WORDS } from './requests.words.ts'

export const OpenedRequest = ({ accountId, requestId, close }: Readonly<{ accountId: string; requestId: string; close: () => void }>) => {
  const { loaded, again } = useAsked(() => spendApi.request(accountId, requestId), [accountId, requestId])
  return (
    <Dialog title="Request" close={close}>
      <Show loaded={loaded} again={again} lines={14}>
        {(request) => (
          <>
            <RequestOpened
              request={request}
              more={
                <>
                  <dt>Key</dt>
                  <dd>
                    {request.key_name !== '' && `${request.key_name} `}
                    <code>{request.key_id}</code>
                  </dd>
                </>
              }
            />
            {request.calls.length > 0 && (
              <section class="stack tight">
                <h3>{WORDS.calls}</h3>
                <Table
                  label={WORDS.calls}
                  columns={[
                    { name: 'Call', cell: ({ number }) => number },
                    { name: 'Status', cell: ({ status }) => status ?? 'none' },
                    { name: 'Cause', cell: ({ cause }) => cause },
                    { name: 'Time', isFigure: true, cell: ({ duration_ms }) => showDuration(duration_ms) },
                  ]}
                  rows={request.calls}
                  keyOf={({ number }) => String(number)}
                />
              </section>
            )}
          </>
        )}
      </Show>
    </Dialog>
  )
}
