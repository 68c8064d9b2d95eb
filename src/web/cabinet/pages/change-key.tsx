/** An owner's changes of one key: name and limit, more days, a new secret, off and on. A change that stops a key at once is confirmed first. */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask } from '../../parts/ask.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { NameField, UsdField } from '../../parts/name-and-amount.tsx'
import { isPromised, OldSecret } from '../../parts/old-secret.tsx'
import { showDate } from '../../parts/show-time.ts'
import { Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { type Key, keysOf } from '../keys-api.ts'
import { KeyBudgets } from './key-budgets.tsx'
import { DAYS, OVERLAPS, WORDS } from './keys.words.ts'
import { NewSecret } from './new-secret.tsx'

type Keys = ReturnType<typeof keysOf>
type Part = Readonly<{ keys: Keys; shown: Key; changed: () => void }>

export const ChangeKey = ({
  accountId,
  shown,
  changed,
  close,
}: Omit<Part, 'keys'> & Readonly<{ accountId: string; close: () => void }>) => {
  const [secret, setSecret] = useState<string>()
  const keys = keysOf(accountId)
  const title = shown.name === '' ? shown.display : shown.name
  return (
    <Dialog title={secret === undefined ? title : `The new secret of “${title}”`} close={close}>
      {secret !== undefined ? (
        <NewSecret accountId={accountId} secret={secret} close={close} />
      ) : (
        <div class="parts">
          <NameAndLimit keys={keys} shown={shown} changed={changed} />
          <KeyBudgets keys={keys} shown={shown} />
          <Extend keys={keys} shown={shown} changed={changed} />
          <Rotate keys={keys} shown={shown} changed={changed} made={setSecret} />
          <Switch keys={keys} shown={shown} changed={changed} />
        </div>
      )}
    </Dialog>
  )
}

/** Sends only what the person changed: another tab may have set the other field since this form was opened. */
const NameAndLimit = ({ keys, shown, changed }: Part) => {
  const [before, setBefore] = useState({ name: shown.name, limit: shown.limit_usd ?? '' })
  const [name, setName] = useState(before.name)
  const [limit, setLimit] = useState(before.limit)
  const act = useAct()
  const submit = (): void => {
    const now = { name: name.trim(), limit: limit.trim() }
    const wanted = {
      ...(now.name === before.name ? {} : { name: now.name }),
      ...(now.limit === before.limit ? {} : { limit_usd: now.limit === '' ? null : now.limit }),
    }
    act.run(
      () => ask(keys({ keyId: shown.id }).patch(wanted)),
      () => {
        setBefore(now)
        tell('Saved')
        changed()
      },
    )
  }
  return (
    <Form act={act} fields={['name', 'limit_usd']} button="Save" submit={submit}>
      <NameField act={act} value={name} change={setName} />
      <UsdField act={act} field="limit_usd" label="Spend limit" hint={WORDS.limitHint} value={limit} change={setLimit} />
    </Form>
  )
}

const Extend = ({ keys, shown, changed }: Part) => {
  const [days, setDays] = useState('30')
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => ask(keys({ keyId: shown.id }).extend.post({ days: Number(days) })),
      ({ expires_at }) => {
        tell(expires_at === null ? 'Extended' : `It expires on ${showDate(expires_at)}`)
        changed()
      },
    )
  return (
    <Form act={act} kind="plain" fields={['days']} button={shown.expires_at === null ? 'Set expiry' : 'Extend'} submit={submit}>
      <h3>Expiry</h3>
      <p class="field-hint">
        {shown.expires_at === null ? (
          'It never expires.'
        ) : (
          <>
            It expires <Moment iso={shown.expires_at} />.
          </>
        )}
      </p>
      <Choice
        label={shown.expires_at === null ? 'Expires in' : 'Longer by'}
        options={DAYS}
        value={days}
        change={setDays}
        error={act.errorOf('days')}
      />
    </Form>
  )
}

const Rotate = ({ keys, shown, changed, made }: Part & Readonly<{ made: (secret: string) => void }>) => {
  const [overlap, setOverlap] = useState('24')
  const [isSure, setSure] = useState(false)
  const act = useAct()
  const endsPromised = isPromised(shown.old_secret, overlap)
  const cutsOff = overlap === '0' || endsPromised
  const submit = (): void => {
    if (cutsOff && !isSure) setSure(true)
    else rotate()
  }
  const rotate = (): void =>
    act.run(
      () => ask(keys({ keyId: shown.id }).rotate.post({ overlap_hours: Number(overlap), ends_promised: endsPromised })),
      ({ secret }) => {
        made(secret)
        changed()
      },
    )
  return (
    <Form
      act={act}
      fields={[]}
      kind={cutsOff ? 'danger' : 'plain'}
      button={isSure ? 'Cut the old secret off now' : 'Make a new secret'}
      submit={submit}
    >
      <h3>New secret</h3>
      <p class="field-hint">{WORDS.rotate}</p>
      <OldSecret old={shown.old_secret} overlapHours={overlap} />
      <Choice
        label="The old secret"
        options={OVERLAPS}
        value={overlap}
        change={(value) => {
          setOverlap(value)
          setSure(false)
        }}
      />
      {overlap === '0' && <p class="note wary">{WORDS.cut}</p>}
    </Form>
  )
}

const Switch = ({ keys, shown, changed }: Part) => {
  const [isSure, setSure] = useState(false)
  const act = useAct()
  const submit = (): void => {
    if (shown.is_active && !isSure) setSure(true)
    else flip()
  }
  const key = keys({ keyId: shown.id })
  const flip = (): void =>
    act.run(
      () => ask(shown.is_active ? key.disable.post() : key.enable.post()),
      ({ is_active }) => {
        setSure(false)
        tell(is_active ? 'The key is enabled' : 'The key is disabled')
        changed()
      },
    )
  return (
    <Form
      act={act}
      kind={shown.is_active ? 'danger' : 'plain'}
      button={shown.is_active ? (isSure ? 'Disable it now' : 'Disable') : 'Enable'}
      submit={submit}
      more={
        isSure && (
          <button type="button" onClick={() => setSure(false)}>
            Keep it
          </button>
        )
      }
    >
      <h3>{shown.is_active ? 'Disable' : 'Enable'}</h3>
      {shown.is_active && <p class={isSure ? 'note wary' : 'field-hint'}>{WORDS.disable}</p>}
    </Form>
  )
}
