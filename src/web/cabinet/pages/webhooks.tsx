/** The webhooks of an account: addresses that alerts are sent to, each with a secret that is shown once. Rules: pages.md "Webhooks". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import type { Loaded } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog, SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Field, Ticks } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Remove } from '../../parts/remove.tsx'
import { Show } from '../../parts/state.tsx'
import { tell } from '../../parts/told.tsx'
import type { AlertsApi, Webhooks as Listed, Webhook } from '../alerts-api.ts'
import { WORDS } from './alerts.words.ts'
import { TestButton } from './test-button.tsx'

type WebhooksState = Readonly<{ loaded: Loaded<Listed>; again: () => void }>

export const Webhooks = ({
  api,
  asked: { loaded, again },
  isOwner,
  acted,
}: Readonly<{ api: AlertsApi; asked: WebhooksState; isOwner: boolean; acted: () => void }>) => {
  const [opened, setOpened] = useState<Webhook | 'new'>()
  const isFull = loaded.value !== undefined && loaded.value.data.length >= loaded.value.webhooks_max
  const changed = (): void => {
    again()
    acted()
  }
  return (
    <section class="stack" aria-label={WORDS.webhooks}>
      <div class="section-head">
        <div>
          <h2>{WORDS.webhooks}</h2>
          <p class="lede">
            {WORDS.webhooksLede} <a href="/docs/alerts#webhooks">How to verify it</a>
          </p>
        </div>
        {isOwner && (
          <button type="button" disabled={isFull} onClick={() => setOpened('new')}>
            {WORDS.addWebhook}
          </button>
        )}
      </div>
      <Show loaded={loaded} again={again} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="quiet">{WORDS.webhooksNone}</p>
          ) : (
            <ul class="entries" aria-label={WORDS.webhooks}>
              {data.map((hook) => (
                <li key={hook.id}>
                  <p class="entry">
                    <code>{hook.url}</code>{' '}
                    <Badge mood={hook.is_enabled ? 'good' : 'quiet'} text={hook.is_enabled ? 'active' : 'disabled'} />
                  </p>
                  {isOwner && (
                    <div class="acts">
                      <TestButton label={hook.url} test={() => api.test('webhooks', hook.id)} tested={acted} />
                      <button type="button" class="small" aria-label={`Change: ${hook.url}`} onClick={() => setOpened(hook)}>
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
      {opened === 'new' && <NewWebhook api={api} made={changed} close={() => setOpened(undefined)} />}
      {opened !== undefined && opened !== 'new' && (
        <ChangeWebhook api={api} hook={opened} changed={changed} close={() => setOpened(undefined)} />
      )}
    </section>
  )
}

const URL_HINT = 'https, at a name or an address that is reachable from the Internet'

const NewWebhook = ({ api, made, close }: Readonly<{ api: AlertsApi; made: () => void; close: () => void }>) => {
  const [url, setUrl] = useState('')
  const [secret, setSecret] = useState<string>()
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => api.addWebhook(url),
      (hook) => {
        setSecret(hook.secret)
        made()
      },
    )
  return (
    <Dialog title={secret === undefined ? WORDS.addWebhook : 'The secret of this webhook'} close={close}>
      {secret === undefined ? (
        <Form act={act} fields={['url']} button="Add the webhook" submit={submit}>
          <Field
            label="Address"
            hint={URL_HINT}
            required
            autoFocus
            inputMode="text"
            autocomplete="off"
            spellcheck={false}
            maxLength={2_000}
            placeholder="https://example.com/hook"
            value={url}
            change={setUrl}
            error={act.errorOf('url')}
          />
        </Form>
      ) : (
        <div class="stack" {...SHOWN_ONCE}>
          <CopyText isBlock label="secret" text={secret} />
          <p class="note wary">{WORDS.secret}</p>
          <p>
            <a href="/docs/alerts#webhooks">How to verify a message</a>
          </p>
          <div class="acts">
            <button type="button" class="primary" onClick={close}>
              Done
            </button>
          </div>
        </div>
      )}
    </Dialog>
  )
}

const ChangeWebhook = ({
  api,
  hook,
  changed,
  close,
}: Readonly<{ api: AlertsApi; hook: Webhook; changed: () => void; close: () => void }>) => {
  const [url, setUrl] = useState(hook.url)
  const [isEnabled, setEnabled] = useState(hook.is_enabled)
  const act = useAct()
  const done = (what: string): void => {
    tell(what)
    changed()
    close()
  }
  const submit = (): void =>
    act.run(
      () => api.changeWebhook(hook.id, { ...(url.trim() === hook.url ? {} : { url }), is_enabled: isEnabled }),
      () => done('Saved'),
    )
  return (
    <Dialog title="Change webhook" close={close}>
      <div class="parts">
        <Form act={act} fields={['url']} button="Save" submit={submit}>
          <Field
            label="Address"
            hint="Its secret stays the same"
            required
            autocomplete="off"
            spellcheck={false}
            maxLength={2_000}
            value={url}
            change={setUrl}
            error={act.errorOf('url')}
          />
          <Ticks
            label="State"
            options={[{ value: 'on', text: 'Send alerts to it' }]}
            value={isEnabled ? ['on'] : []}
            change={(on) => setEnabled(on.length > 0)}
          />
        </Form>
        <Remove
          what="this webhook"
          hint="Alerts tell it no more; what waits for it is given up."
          remove={() => api.remove('webhooks', hook.id)}
          removed={() => done('The webhook is removed')}
        />
      </div>
    </Dialog>
  )
}
