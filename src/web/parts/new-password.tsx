/** A forgotten password: a link is asked for by mail, and leads to a page that sets a new one. `root`: `/cabinet` or `/console`. Rules: pages.md "Ways in". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { send } from './send.ts'
import { PageHead } from './shell.tsx'
import { NewPassword } from './sign-in.tsx'

export const ForgottenPassword = ({ root }: Readonly<{ root: string }>) => {
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title="Forgotten password" lede="A link to a new one is sent to your e-mail. It works once, within the hour." />
      {isSent ? (
        <p class="note" role="status">
          If {email} has an account here, the link is on its way.
        </p>
      ) : (
        <Form
          act={act}
          isCard
          button="Send the link"
          submit={() =>
            act.run(
              () => send(`${root}/auth/request-password-reset`, { email }),
              () => setSent(true),
            )
          }
        >
          <Field label="E-mail" type="email" autocomplete="username" required autoFocus value={email} change={setEmail} />
        </Form>
      )}
      <ul class="elsewhere">
        <li>
          <a href={`${root}/sign-in`}>Back to the sign-in</a>
        </li>
      </ul>
    </div>
  )
}

export const ResetPassword = ({ root, token }: Readonly<{ root: string; token: string }>) => {
  const [password, setPassword] = useState('')
  const [isSet, setIsSet] = useState(false)
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title="New password" lede="It ends all your sessions." />
      {isSet ? (
        <p class="note" role="status">
          Your password is set. <a href={`${root}/sign-in`}>Sign in with it.</a>
        </p>
      ) : (
        <Form
          act={act}
          isCard
          button="Set the password"
          submit={() =>
            act.run(
              () => send(`${root}/auth/reset-password`, { token, newPassword: password }),
              () => setIsSet(true),
            )
          }
        >
          <NewPassword label="New password" value={password} change={setPassword} error={undefined} />
        </Form>
      )}
    </div>
  )
}
