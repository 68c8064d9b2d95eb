/** An alert's form, new or changed: what is watched, of what, and who is told. Removing is asked for twice. Rules: pages.md "Alerts on the page". */

import { useState } from 'preact/hooks'
import type { AlertBody } from '../../api/alert-body.ts'
import { useAct } from '../../parts/act.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field, type Option, Ticks } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import { Remove } from '../../parts/remove.tsx'
import { tell } from '../../parts/told.tsx'
import type { Alert, AlertsApi, Kind, Webhook } from '../alerts-api.ts'
import { KINDS, WORDS } from './alerts.words.ts'

/** What the form begins with. `alert`: the one that is changed. */
export type Draft = Readonly<{ alert?: Alert; kind?: Kind; amount?: string; emails?: readonly string[] }>

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

const FIELDS = ['kind', 'threshold_usd', 'days', 'percent', 'key_id', 'emails', 'webhook_ids']

const AlertForm = ({ api, draft: { alert, ...draft }, emails, webhooks, keys, changed, close }: Parts) => {
  const [kind, setKind] = useState<Kind>(alert?.kind ?? draft.kind ?? 'balance_below')
  const [amount, setAmount] = useState(alert?.threshold_usd ?? draft.amount ?? '')
  const [days, setDays] = useState(String(alert?.days ?? 7))
  const [percent, setPercent] = useState(String(alert?.percent ?? 80))
  const [keyId, setKeyId] = useState(alert?.key_id ?? '')
  const [tellEmails, setTellEmails] = useState<readonly string[]>(alert?.emails ?? draft.emails ?? [])
  const [tellHooks, setTellHooks] = useState<readonly string[]>(alert?.webhook_ids ?? [])
  const [isEnabled, setEnabled] = useState(alert?.is_enabled ?? true)
  const act = useAct()
  const body: AlertBody = {
    kind,
    ...(kind === 'balance_below' || kind === 'daily_spend_above' ? { threshold_usd: amount.trim().replace(/^\$/, '') } : {}),
    ...(kind === 'key_expires' ? { days: Number(days) } : {}),
    ...(kind === 'key_limit_used' ? { percent: Number(percent) } : {}),
    key_id: kind === 'balance_below' || keyId === '' ? null : keyId,
    // Whoever left the account, or was removed, is let go with the next change.
    emails: tellEmails.filter((email) => emails.includes(email)),
    webhook_ids: tellHooks.filter((id) => webhooks.some((hook) => hook.id === id)),
    is_enabled: isEnabled,
  }
  const submit = (): void =>
    act.run(
      () => (alert === undefined ? api.add(body) : api.change(alert.id, body)),
      () => {
        tell(alert === undefined ? 'The alert is set' : 'Saved')
        changed()
        close()
      },
    )
  return (
    <Form act={act} fields={FIELDS} button={alert === undefined ? 'Set the alert' : 'Save'} submit={submit}>
      <Choice label="Tell when" isFirst options={KINDS} value={kind} change={(to) => setKind(kindOf(to))} error={act.errorOf('kind')} />
      {(kind === 'balance_below' || kind === 'daily_spend_above') && (
        <UsdField
          key="amount"
          act={act}
          field="threshold_usd"
          label="Amount in USD"
          required
          maxLength={30}
          value={amount}
          change={setAmount}
        />
      )}
      {kind === 'key_expires' && (
        <Field
          key="days"
          label="Days before"
          type="number"
          required
          min="1"
          max="90"
          value={days}
          change={setDays}
          error={act.errorOf('days')}
        />
      )}
      {kind === 'key_limit_used' && (
        <Field
          key="percent"
          label="Percent of the limit"
          type="number"
          required
          min="1"
          max="100"
          value={percent}
          change={setPercent}
          error={act.errorOf('percent')}
        />
      )}
      {kind !== 'balance_below' && (
        <Choice
          label="Of"
          options={[{ value: '', text: kind === 'daily_spend_above' ? 'The whole account' : 'Any key' }, ...keys]}
          value={keyId}
          change={setKeyId}
          error={act.errorOf('key_id')}
        />
      )}
      <Ticks
        label="Tell by mail"
        options={emails.map((email) => ({ value: email, text: email }))}
        value={tellEmails}
        change={setTellEmails}
        error={act.errorOf('emails')}
      />
      <Ticks
        label="Tell by webhook"
        options={webhooks.map(({ id, url }) => ({ value: id, text: url }))}
        value={tellHooks}
        change={setTellHooks}
        error={act.errorOf('webhook_ids')}
      />
      {alert !== undefined && (
        <Ticks
          label="State"
          options={[{ value: 'on', text: 'Watch and tell' }]}
          value={isEnabled ? ['on'] : []}
          change={(on) => setEnabled(on.length > 0)}
        />
      )}
    </Form>
  )
}

const kindOf = (value: string): Kind => KINDS.find((kind) => kind.value === value)?.value ?? 'balance_below'
