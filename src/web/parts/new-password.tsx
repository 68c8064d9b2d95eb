/** The page to which the link to a new password leads. `root`: `/cabinet` or `/console`. Rules: pages.md "Sign-in routes". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { Form } from './form.tsx'
import { send } from './send.ts'
import { PageHead } from './shell.tsx'
import { NewPassword } from './sign-in.tsx'

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
