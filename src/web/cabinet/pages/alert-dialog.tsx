/** The form of a new alert or of a change: its condition, its key, and its receivers. Removing takes a second press. Rules: pages.md "Alerts on the page". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { type Option, Ticks } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Remove } from '../../parts/remove.tsx'
import { tell } from '../../parts/told.tsx'
import type { AlertsApi, Webhook } from '../alerts-api.ts'
import { bodyOf, type Draft, type TypedAlert, typedOf } from './alert-draft.ts'
import { FIELDS, Told, Watched } from './alert-fields.tsx'
import { WORDS } from './alerts.words.ts'

type Parts = Readonly<{
  api: AlertsApi
  draft: Draft
  /** Members who may be written to. */
  emails: readonly string[]
  webhooks: readonly Webhook[]
  keys: readonly Option[]
  changed: () => void
  close: () => void
}>

export const AlertDialog = (parts: Parts) => {
  const { api, changed, close } = parts
  const { alert } = parts.draft
  return (
    <Dialog title={alert === undefined ? WORDS.make : 'Change alert'} close={close}>
      <div class="parts">
        <AlertForm {...parts} />
        {alert !== undefined && (
          <Remove
            what="this alert"
            hint={WORDS.remove}
            remove={() => api.remove('alerts', alert.id)}
            removed={() => {
              tell('The alert is removed')
              changed()
              close()
            }}
          />
        )}
      </div>
    </Dialog>
  )
}

const AlertForm = ({ api, draft, emails, webhooks, keys, changed, close }: Parts) => {
  const { alert } = draft
  const [typed, setTyped] = useState(() => typedOf(draft))
  const type = (change: Partial<TypedAlert>): void => setTyped((before) => ({ ...before, ...change }))
  const act = useAct()
  const submit = (): void => {
    const body = bodyOf(typed, emails, webhooks)
    act.run(
      () => (alert === undefined ? api.add(body) : api.change(alert.id, body)),
      () => {
        tell(alert === undefined ? 'The alert is set' : 'Saved')
        changed()
        close()
      },
    )
  }
  return (
    <Form act={act} fields={FIELDS} button={alert === undefined ? 'Set the alert' : 'Save'} submit={submit}>
      <Watched act={act} typed={typed} type={type} keys={keys} />
      <Told act={act} typed={typed} type={type} emails={emails} webhooks={webhooks} />
      {alert !== undefined && (
        <Ticks
          label="State"
          options={[{ value: 'on', text: 'Watch and tell' }]}
          value={typed.isEnabled ? ['on'] : []}
          change={(on) => type({ isEnabled: on.length > 0 })}
        />
      )}
    </Form>
  )
}
