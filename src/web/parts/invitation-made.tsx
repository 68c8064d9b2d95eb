/** The link by which somebody comes in, shown once to whoever invited. Rules: pages.md "Links", "Members". */

import { CopyText } from './copy.tsx'
import { Moment } from './time.tsx'

/** `link`: in this one answer alone. */
export type Made = Readonly<{ email: string; link: string; is_mailed: boolean; expires_at: string }>

export const InvitationMade = ({ made: { email, link, is_mailed, expires_at }, close }: Readonly<{ made: Made; close: () => void }>) => (
  <div class="stack">
    <p>{is_mailed ? `The link is on its way to ${email}. You may also send it yourself:` : `Send this link to ${email}:`}</p>
    <CopyText isBlock label="invitation link" text={link} />
    <p class="note wary">
      It works once, for whoever has this e-mail address, until <Moment iso={expires_at} />. It is shown only now.
    </p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)
