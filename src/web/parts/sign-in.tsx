/** The sign-in routes, for cabinet and console alike. `root`: `/cabinet` or `/console`. Rules: pages.md "Sign-in routes", "Failed sign-ins". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { knowsPasskeys, signInWithPasskey } from './passkeys.ts'
import { send } from './send.ts'
import { PageHead } from './shell.tsx'

export type Offered = Readonly<{ passkey: boolean; mail: boolean; signUp: boolean }>

/** `entered`: called when a person is signed in. `hint`: where the page leads then. */
export const SignIn = ({
  root,
  title,
  lede,
  offered,
  entered,
}: Readonly<{ root: string; title: string; lede?: string; offered: Offered; entered: () => void }>) => {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title={title} {...(lede === undefined ? {} : { lede })} />
      <Form
        act={act}
        isCard
        button="Sign in"
        submit={() => act.run(() => send(`${root}/auth/sign-in/email`, { email, password }), entered)}
        more={
          offered.passkey &&
          knowsPasskeys() && (
            <button type="button" onClick={() => act.run(() => signInWithPasskey(root), entered)}>
              Use a passkey
            </button>
          )
        }
      >
        <Field label="E-mail" type="email" autocomplete="username webauthn" required autoFocus value={email} change={setEmail} />
        <Field label="Password" type="password" autocomplete="current-password" required value={password} change={setPassword} />
      </Form>
      <ul class="elsewhere">
        {offered.mail && (
          <>
            <li>
              <a href={`${root}/mail-link`}>Sign in by a link to your e-mail</a>
            </li>
            <li>
              <a href={`${root}/forgot`}>Forgotten password</a>
            </li>
          </>
        )}
        {offered.signUp && (
          <li>
            <a href={`${root}/sign-up`}>Make an account</a>
          </li>
        )}
        {root === '/cabinet' && (
          <li>
            <a href="/cabinet/key">Look up a key without an account</a>
          </li>
        )}
      </ul>
    </div>
  )
}

export const SignUp = ({ root, entered }: Readonly<{ root: string; entered: () => void }>) => {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title="Make an account" lede="It begins with a balance of $0.00." />
      <Form
        act={act}
        isCard
        button="Make an account"
        fields={['email', 'password', 'name']}
        submit={() => act.run(() => send(`${root}/auth/sign-up`, { email, password, name }), entered)}
      >
        <Field
          label="E-mail"
          type="email"
          autocomplete="username"
          required
          autoFocus
          value={email}
          change={setEmail}
          error={act.errorOf('email')}
        />
        <NewPassword value={password} change={setPassword} error={act.errorOf('password')} />
        <Field
          label="Your name"
          hint="Optional"
          autocomplete="name"
          maxLength={100}
          value={name}
          change={setName}
          error={act.errorOf('name')}
        />
      </Form>
      <ul class="elsewhere">
        <li>
          <a href={`${root}/sign-in`}>Sign in instead</a>
        </li>
      </ul>
    </div>
  )
}

export const NewPassword = ({
  value,
  change,
  error,
  label = 'Password',
}: Readonly<{ value: string; change: (value: string) => void; error: string | undefined; label?: string }>) => (
  <Field
    label={label}
    type="password"
    hint="10 characters or more"
    autocomplete="new-password"
    required
    minLength={10}
    maxLength={128}
    value={value}
    change={change}
    error={error}
  />
)
