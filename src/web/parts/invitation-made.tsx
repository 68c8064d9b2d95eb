/** The link of an invitation, shown once to the person who invites. Rules: pages.md "Links", "Members". */

import { CopyText } from './copy.tsx'
import { SHOWN_ONCE } from './dialog.tsx'
import { Moment } from './time.tsx'

/** `link`: in this one answer alone; null where only the mail has it. */
export type Made = Readonly<{ email: string; link: string | null; is_mailed: boolean; expires_at: string }>

export const InvitationMade = ({ made: { email, link, is_mailed, expires_at }, close }: Readonly<{ made: Made; close: () => void }>) => (
  <div class="stack" {...(link === null ? {} : SHOWN_ONCE)}>
    {is_mailed && <p>The link is on its way to {email}.</p>}
    {link !== null && (
      <>
        <p>{is_mailed ? 'You may also send it yourself:' : `Send this link to ${email}:`}</p>
        <CopyText isBlock label="invitation link" text={link} />
      </>
    )}
    <p class="note wary">
      It works once, for the person with this e-mail address, until <Moment iso={expires_at} />.{link !== null && ' It is shown only now.'}
    </p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)
