/** The alerts of an account as sentences, its webhooks, and the deliveries. Rules: pages.md "Alerts on the page". */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Empty, Show } from '../../parts/state.tsx'
import type { AccountPageProps } from '../account-path.ts'
import { type Alert, alertsOf, type Alerts as Listed } from '../alerts-api.ts'
import { keysOf } from '../keys-api.ts'
import { me } from '../me.ts'
import { AlertDialog } from './alert-dialog.tsx'
import type { Draft } from './alert-draft.ts'
import { alertState, type Names, sentenceOf, WORDS } from './alerts.words.ts'
import { Deliveries } from './deliveries.tsx'
import { TestButton } from './test-button.tsx'
import { Webhooks } from './webhooks.tsx'

export const Alerts = ({ account: { id, role } }: AccountPageProps) => {
  const isOwner = role === 'owner'
  const api = alertsOf(id)
  const alerts = useAsked(api.alerts, [id])
  const webhooks = useAsked(api.webhooks, [id])
  const keys = useAsked(() => keysOf(id).get({ query: {} }), [id])
  const [opened, setOpened] = useState<Draft>()
  const [acts, setActs] = useState(0)
  const hooks = webhooks.loaded.value?.data ?? []
  const keyOptions = (keys.loaded.value?.data ?? []).map((key) => ({ value: key.id, text: key.name === '' ? key.display : key.name }))
  const names: Names = {
    keyName: (keyId) => keyOptions.find(({ value }) => value === keyId)?.text,
    webhookName: (hookId) => hooks.find((hook) => hook.id === hookId)?.url,
    chats: alerts.loaded.value?.chats ?? 0,
  }
  /** Called after an act that may have caused a delivery. */
  const acted = (): void => {
    setActs((before) => before + 1)
    alerts.again()
  }
  const listed = alerts.loaded.value
  const isFull = listed !== undefined && listed.data.length >= listed.alerts_max
  const mayTell = listed === undefined || listed.sends_mail || hooks.length > 0 || listed.chats > 0
  return (
    <>
      <PageHead title={WORDS.title} lede={WORDS.lede}>
        {isOwner && (
          <button type="button" class="primary" disabled={isFull || !mayTell} onClick={() => setOpened({})}>
            {WORDS.make}
          </button>
        )}
      </PageHead>
      <Show loaded={alerts.loaded} again={alerts.again} lines={3}>
        {(value) =>
          value.data.length === 0 ? (
            <NoAlerts isOwner={isOwner} mayTell={mayTell} start={() => setOpened(firstAlert(value))} />
          ) : (
            <ul class="entries" aria-label={WORDS.title}>
              {value.data.map((alert) => (
                <li key={alert.id}>
                  <Entry alert={alert} names={names} />
                  {isOwner && (
                    <div class="acts">
                      <TestButton label={sentenceOf(alert, names)} test={() => api.test('alerts', alert.id)} tested={acted} />
                      <button
                        type="button"
                        class="small"
                        aria-label={`Change: ${sentenceOf(alert, names)}`}
                        onClick={() => setOpened({ alert })}
                      >
                        Change
                      </button>
                    </div>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Show>
      <Webhooks api={api} asked={webhooks} isOwner={isOwner} acted={acted} />
      <Deliveries api={api} names={names} acts={acts} />
      {opened !== undefined && listed !== undefined && (
        <AlertDialog
          api={api}
          draft={opened}
          emails={listed.emails}
          webhooks={hooks}
          keys={keyOptions}
          changed={acted}
          close={() => setOpened(undefined)}
        />
      )}
    </>
  )
}

const Entry = ({ alert, names }: Readonly<{ alert: Alert; names: Names }>) => {
  const [mood, text] = alertState(alert)
  return (
    <p class="entry">
      <span>{sentenceOf(alert, names)}</span> <Badge mood={mood} text={text} />
    </p>
  )
}

const NoAlerts = ({ isOwner, mayTell, start }: Readonly<{ isOwner: boolean; mayTell: boolean; start: () => void }>) => (
  <Empty title={WORDS.none}>
    <p>{isOwner ? (mayTell ? WORDS.firstLede : WORDS.noMail) : WORDS.noneReader}</p>
    {isOwner && mayTell && (
      <button type="button" onClick={start}>
        {WORDS.first}
      </button>
    )}
  </Empty>
)

/** A draft of the alert that most people want first, sent to the person who looks. */
function firstAlert({ emails }: Listed): Draft {
  const own = me.value.value?.person?.email
  return { kind: 'balance_below', amount: '5', emails: emails.filter((email) => email === own) }
}
