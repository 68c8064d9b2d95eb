/** One key and its use, for its holder. The secret is in this page's memory alone, unless the holder lets the tab remember it. Rules: pages.md "A key without an account". */

import { useState } from 'preact/hooks'
import { ask, type Failure } from '../../parts/ask.ts'
import { Field } from '../../parts/field.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { forgetKey, keyApi, rememberedKey, rememberKey } from '../key-api.ts'
import { failureWords, KEY_WORDS } from './key.words.ts'
import { KeyOpened } from './key-opened.tsx'

export const LookUpKey = () => {
  const [secret, setSecret] = useState(rememberedKey)
  const forget = (): void => {
    forgetKey()
    setSecret(undefined)
  }
  return secret === undefined ? <Paste found={setSecret} /> : <KeyOpened key={secret} api={keyApi(secret)} forget={forget} />
}

const Paste = ({ found }: Readonly<{ found: (secret: string) => void }>) => {
  const [text, setText] = useState('')
  const [isRemembered, setRemembered] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const look = async (): Promise<void> => {
    const secret = text.trim()
    setAsking(true)
    setFailure(undefined)
    // A header takes no characters but these, and every key is made of them.
    const asked = /^[\x21-\x7e]+$/.test(secret) ? await ask(keyApi(secret).balance()) : { failure: { status: 401, message: '' } }
    setAsking(false)
    if (asked.failure !== undefined) return setFailure(asked.failure)
    if (isRemembered) rememberKey(secret)
    found(secret)
  }
  const error = failure && failureWords(failure.status, failure.message, failure.retryAfterS)
  return (
    <>
      <PageHead title={KEY_WORDS.title} lede={KEY_WORDS.lede} />
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault()
          look().catch(() => undefined)
        }}
      >
        <Field
          label={KEY_WORDS.label}
          hint={KEY_WORDS.hint}
          error={error}
          autocomplete="off"
          autoFocus
          required
          spellcheck={false}
          placeholder="sk-…"
          value={text}
          change={setText}
        />
        <label class="tick">
          <input type="checkbox" checked={isRemembered} onChange={({ currentTarget }) => setRemembered(currentTarget.checked)} />
          {KEY_WORDS.remember}
        </label>
        <div class="acts">
          <button type="submit" class="primary" disabled={isAsking}>
            {KEY_WORDS.look}
          </button>
        </div>
      </form>
    </>
  )
}
