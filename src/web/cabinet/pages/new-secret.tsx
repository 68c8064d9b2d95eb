/** A secret, shown once, and the guide's lines for the clients that people paste it into. */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { CopyText } from '../../parts/copy.tsx'
import { SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { Show } from '../../parts/state.tsx'
import { api } from '../api.ts'
import { WORDS } from './keys.words.ts'

export const NewSecret = ({ accountId, secret, close }: Readonly<{ accountId: string; secret: string; close: () => void }>) => {
  const { loaded, again } = useAsked(() => api.accounts({ accountId })['client-lines'].get(), [accountId])
  const [client, setClient] = useState('curl')
  return (
    <div class="stack" {...SHOWN_ONCE}>
      <CopyText isBlock label="secret" text={secret} />
      <p class="note wary">{WORDS.once}</p>
      <Show loaded={loaded} again={again} lines={6}>
        {({ data }) => (
          <>
            <Choice
              label="Client"
              options={data.map((one) => ({ value: one.client, text: one.client }))}
              value={client}
              change={setClient}
            />
            <p class="field-hint">{WORDS.lines}</p>
            <CopyText isBlock label="the key’s line" text={`export KEY=${secret}`} />
            {data
              .find((one) => one.client === client)
              ?.blocks.map(({ about, code }) => (
                <div key={code} class="stack">
                  {about !== '' && <p class="field-hint">{about}</p>}
                  <CopyText isBlock label={`lines for ${client}`} text={code} />
                </div>
              ))}
          </>
        )}
      </Show>
      <div class="acts">
        <button type="button" class="primary" onClick={close}>
          Done
        </button>
      </div>
    </div>
  )
}
