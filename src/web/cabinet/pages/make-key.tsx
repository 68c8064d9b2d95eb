/** A new key: its form, then its secret once, with lines to paste. */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask } from '../../parts/ask.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { NameField, UsdField } from '../../parts/name-and-amount.tsx'
import { keysOf, newKeyId } from '../keys-api.ts'
import { DAYS, NEVER, WORDS } from './keys.words.ts'
import { NewSecret } from './new-secret.tsx'

export const MakeKey = ({ accountId, made, close }: Readonly<{ accountId: string; made: () => void; close: () => void }>) => {
  const [id] = useState(() => newKeyId(Date.now()))
  const [name, setName] = useState('')
  const [limit, setLimit] = useState('')
  const [days, setDays] = useState('')
  const [secret, setSecret] = useState<string>()
  const act = useAct()
  const submit = (): void => {
    const wanted = {
      id,
      name: name.trim(),
      limit_usd: limit.trim() === '' ? null : limit.trim(),
      expires_in_days: days === '' ? null : Number(days),
    }
    act.run(
      () => ask(keysOf(accountId).post(wanted)),
      (done) => {
        setSecret(done.secret)
        made()
      },
    )
  }
  return (
    <Dialog title={secret === undefined ? WORDS.make : `Your key “${name.trim()}”`} close={close}>
      {secret !== undefined ? (
        <NewSecret accountId={accountId} secret={secret} close={close} />
      ) : (
        <Form act={act} fields={['name', 'limit_usd', 'expires_in_days']} button="Make the key" submit={submit}>
          <NameField act={act} hint={WORDS.nameHint} required autoFocus value={name} change={setName} />
          <UsdField act={act} field="limit_usd" label="Spend limit" hint={WORDS.limitHint} value={limit} change={setLimit} />
          <Choice label="Expires" options={[NEVER, ...DAYS]} value={days} change={setDays} error={act.errorOf('expires_in_days')} />
        </Form>
      )}
    </Dialog>
  )
}
