/**
 * Changes on a page who may come in, by the same acts as `tollgate people`, with the person who acts as actor. Both listeners' pages use it.
 * Rules: pages.md "Links", "Members"; operator.md "Audit".
 */

import { isoTime } from '../../core/utc.ts'
import { invitationMail } from '../../people/email-templates.ts'
import type { Membership, Role } from '../../people/memberships.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import type { Caller } from './caller.ts'

/** `membership` null: an invitation to the console. `by`: an operator may see the link and hand it over; an owner may not, who could name any address. */
export type Invited = Readonly<{ email: string; membership: Membership | null; by: 'operator' | 'owner'; reason?: string }>

/** An invitation as pages show it. `link`: only this answer has it; null where only the mail does. */
export type InvitationMade = Readonly<{
  email: string
  role: Role | 'operator'
  link: string | null
  is_mailed: boolean
  expires_at: string
}>

/** Writes the invitation to the audit log, then makes the link, so that no link is without its line. The link replaces an earlier one for the same person and place. */
export async function invite(site: Site, caller: Caller, invited: Invited): Promise<InvitationMade | Response> {
  const { email, membership, by, reason = '' } = invited
  const people = site.people()
  const listener = membership === null ? 'console' : 'cabinet'
  const isMailed = people.mayMail(email, `${listener} invitation`)
  if (by === 'owner' && people.sendsMail && !isMailed)
    return refuse(429, 'This address was written to a moment ago. Try again later', { field: 'email' })
  const role = membership?.role ?? 'operator'
  const accountId = membership?.accountId ?? null
  if (!(await isNoted(site, caller, { email, accountId, access: role, reason })))
    return refuse(503, 'Nothing can be booked at this moment. Try again', { retryAfterS: 1 })
  await people.links.withdraw(email, accountId)
  const token = await people.links.invite(email, membership, caller.actor)
  const link = `${people.origins(listener).base}/${listener}/invite/${token}`
  const expiresAt = (await people.links.invitation(token))?.expiresAt ?? 0
  if (isMailed) people.send(email, invitationMail(link))
  return {
    email,
    role,
    link: by === 'owner' && isMailed ? null : link,
    is_mailed: isMailed,
    expires_at: isoTime(expiresAt),
  }
}

export type Access = Readonly<{ email: string; accountId: string | null; access: Role | 'operator' | 'none'; reason?: string }>

/** Writes a change of access to the audit log. False: the ledger cannot write now, or there is no such account. */
export async function isNoted({ world }: Site, { actor, address }: Caller, { reason = '', ...access }: Access): Promise<boolean> {
  const { ledger, clock } = world
  const { result } = await ledger.operate({ kind: 'setAccess', ...access, now: clock.now() }, { actor, address, reason: reason.trim() })
  return result === 'done'
}
