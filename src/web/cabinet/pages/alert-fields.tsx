/** The inputs of an alert's form: its condition, its key, and its receivers. Rules: pages.md "Alerts on the page". */

import type { Act } from '../../parts/act.ts'
import { Choice, Field, type Option, Ticks } from '../../parts/field.tsx'
import { UsdField } from '../../parts/name-and-amount.tsx'
import type { Kind, Webhook } from '../alerts-api.ts'
import type { TypedAlert } from './alert-draft.ts'
import { KINDS } from './alerts.words.ts'

export const FIELDS = ['kind', 'threshold_usd', 'days', 'percent', 'key_id', 'emails', 'webhook_ids']

type Parts = Readonly<{ act: Act; typed: TypedAlert; type: (changed: Partial<TypedAlert>) => void }>

export const Watched = ({ act, typed, type, keys }: Parts & Readonly<{ keys: readonly Option[] }>) => {
  const { kind } = typed
  return (
    <>
      <Choice
        label="Tell when"
        isFirst
        options={KINDS}
        value={kind}
        change={(to) => type({ kind: kindOf(to) })}
        error={act.errorOf('kind')}
      />
      {(kind === 'balance_below' || kind === 'daily_spend_above') && (
        <UsdField
          key="amount"
          act={act}
          field="threshold_usd"
          label="Amount in USD"
          required
          maxLength={30}
          value={typed.amount}
          change={(amount) => type({ amount })}
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
          value={typed.days}
          change={(days) => type({ days })}
          error={act.errorOf('days')}
        />
      )}
      {kind === 'key_limit_used' && (
        <Field
          key="percent"
          label="Percent of the limit or budget"
          type="number"
          required
          min="1"
          max="100"
          value={typed.percent}
          change={(percent) => type({ percent })}
          error={act.errorOf('percent')}
        />
      )}
      {kind !== 'balance_below' && (
        <Choice
          label="Of"
          options={[{ value: '', text: WHOLE[kind] ?? 'Any key' }, ...keys]}
          value={typed.keyId}
          change={(keyId) => type({ keyId })}
          error={act.errorOf('key_id')}
        />
      )}
    </>
  )
}

type Reachable = Readonly<{ emails: readonly string[]; webhooks: readonly Webhook[] }>

export const Told = ({ act, typed, type, emails, webhooks }: Parts & Reachable) => (
  <>
    <Ticks
      label="Tell by mail"
      options={emails.map((email) => ({ value: email, text: email }))}
      value={typed.emails}
      change={(told) => type({ emails: told })}
      error={act.errorOf('emails')}
    />
    <Ticks
      label="Tell by webhook"
      options={webhooks.map(({ id, url }) => ({ value: id, text: url }))}
      value={typed.hooks}
      change={(hooks) => type({ hooks })}
      error={act.errorOf('webhook_ids')}
    />
  </>
)

/** What the choice without a key means, where that is not "any key". */
const WHOLE: Readonly<Partial<Record<Kind, string>>> = {
  daily_spend_above: 'The whole account',
  key_limit_used: 'Any key, and the account’s budgets',
}

const kindOf = (value: string): Kind => KINDS.find((kind) => kind.value === value)?.value ?? 'balance_below'
