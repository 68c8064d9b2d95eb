/**
 * Ways in that begin with a mail: a link that signs in, a link to a new password, a link that makes an account. The answer is the same for every address.
 * `root`: `/cabinet` or `/console`. Rules: pages.md "Sign-in routes", "Signing up".
 */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { send } from './send.ts'
import { PageHead } from './shell.tsx'

type Way = Readonly<{
  path: string
  title: string
  lede: string
  /** The text that is shown after the mail was asked for. */
  sent: (email: string) => string
}>

const AUTH_ROUTES = {
  signIn: {
    path: '/auth/mail-link',
    title: 'Sign in by mail',
    lede: 'A link that signs you in is sent to your e-mail. It works once, within the hour.',
    sent: (email) => `If ${email} has an account here, the link is on its way.`,
  },
  newPassword: {
    path: '/auth/request-password-reset',
    title: 'Forgotten password',
    lede: 'A link to a new one is sent to your e-mail. It works once, within the hour.',
    sent: (email) => `If ${email} has an account here, the link is on its way.`,
  },
  signUp: {
    path: '/auth/sign-up',
    title: 'Make an account',
    lede: 'A link that makes it is sent to your e-mail. It begins with a balance of $0.00.',
    sent: (email) => `A mail is on its way to ${email}. The link in it makes your account.`,
  },
} satisfies Record<string, Way>

export function ByMail({ root, way }: Readonly<{ root: string; way: keyof typeof AUTH_ROUTES }>) {
  const { path, title, lede, sent } = AUTH_ROUTES[way]
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const act = useAct()
  return (
    <div class="alone stack">
      <PageHead title={title} lede={lede} />
      {isSent ? (
        <p class="note" role="status">
          {sent(email)}
        </p>
      ) : (
        <Form
          act={act}
          isCard
          button="Send the link"
          fields={['email']}
          submit={() =>
            act.run(
              () => send(`${root}${path}`, { email }),
              () => setSent(true),
            )
          }
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
        </Form>
      )}
      <ul class="elsewhere">
        <li>
          <a href={root === '/console' ? root : `${root}/sign-in`}>Back to the sign-in</a>
        </li>
      </ul>
    </div>
  )
}
