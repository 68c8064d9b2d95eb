/** What one-time links lead to, in the style guide. Rules: pages.md "Style guide". */

import { Accept, SignInLink } from '../parts/one-time-link.tsx'

const REACHED = { root: '/console', token: '', entered: () => undefined, signIn: '/console/styles' }
const INVITATION = { email: 'ann@example.com', account_id: 'acc_1', account_name: 'Sample labs', invited_by: 'bob@example.com' }

export const OneTimeLinks = () => (
  <>
    <SignInLink {...REACHED} />
    {(['nothing', 'sign_in', 'password'] as const).map((needs) => (
      <div key={needs} class="alone stack">
        <Accept {...REACHED} invitation={{ ...INVITATION, role: needs === 'nothing' ? 'reader' : 'owner', needs }} />
      </div>
    ))}
  </>
)
