/** The members of an account: they are listed, invited, given another role, and removed. Rules: pages.md "Members". */

import { Elysia, t } from 'elysia'
import { boundedMap } from '../../core/bounded-map.ts'
import { step } from '../../core/rate-limit.ts'
import { isoTime } from '../../core/utc.ts'
import { emailOf, type Role } from '../../people/memberships.ts'
import type { Site } from '../site.ts'
import { type InvitationMade, invite, isNoted } from './access.ts'
import { missing, refuse, wrongEmail } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'

/** The most members and open invitations of an account together. */
const PLACES_MAX = 100
/** The rate of an account's invitations is limited, since each may be a mail to a stranger. */
const TURNS = { perMinute: 1 / 3, burst: 20 }
const ACCOUNTS_MAX = 10_000

const EMAIL = t.String({ minLength: 3, maxLength: 300, description: 'An e-mail address, such as ann@example.com' })
const ROLE = t.Union([t.Literal('owner'), t.Literal('reader')], { description: 'Owner or reader' })
const WHO = t.Object({ email: EMAIL }, { additionalProperties: false })
const MEMBER = t.Object({ email: EMAIL, role: ROLE }, { additionalProperties: false })

export const memberRoutes = (site: Site) => {
  const inviteTo = inviter(site)
  return new Elysia({ name: 'members', prefix: '/cabinet/api/accounts/:accountId/members' })
    .use(callerMacro(site.people, 'cabinet'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get('', ({ params, caller }) => list(site, params.accountId, caller), { member: 'reader' })
    .post('', ({ params, body, caller }) => inviteTo(params.accountId, body, caller), { member: 'owner', body: MEMBER })
    .post('/role', ({ params, body, caller }) => changeRole(site, params.accountId, body, caller), { member: 'owner', body: MEMBER })
    .post('/remove', ({ params, body, caller }) => remove(site, params.accountId, body.email, caller), { member: 'owner', body: WHO })
}

type Wanted = Readonly<{ email: string; role: Role }>

function inviter(site: Site) {
  const tats = boundedMap<number>(ACCOUNTS_MAX)
  return async (accountId: string, { email: typed, role }: Wanted, caller: Caller): Promise<InvitationMade | Response> => {
    const email = emailOf(typed)
    if (email === undefined) return wrongEmail()
    const { memberships, links } = site.people()
    const members = await memberships.membersOf(accountId)
    if (members.some((member) => member.email === email)) return refuse(409, 'This person is a member already', { field: 'email' })
    const open = (await links.invitations(accountId)).filter((invitation) => invitation.email !== email)
    if (members.length + open.length >= PLACES_MAX) return refuse(409, `An account may have ${PLACES_MAX} members and invitations`)
    const { tat, isAllowed, retryAfterSeconds } = step(tats.get(accountId), site.world.clock.monotonicMs(), TURNS)
    tats.set(accountId, tat)
    if (!isAllowed) return refuse(429, 'Wait a little before the next invitation', { retryAfterS: retryAfterSeconds })
    return invite(site, caller, { email, membership: { accountId, role }, by: 'owner' })
  }
}

async function list({ people }: Site, accountId: string, { person }: Caller) {
  const { memberships, links } = people()
  return {
    data: (await memberships.membersOf(accountId)).map(({ id, email, name, role }) => ({ email, name, role, is_you: id === person.id })),
    invitations: (await links.invitations(accountId)).map(({ email, membership, createdAt, expiresAt }) => ({
      email,
      role: membership?.role ?? 'reader',
      created_at: isoTime(createdAt),
      expires_at: isoTime(expiresAt),
    })),
    sends_mail: people().sendsMail,
  }
}

/** Writes to the audit log before the role changes, so that no person has more rights without a line there. */
async function changeRole(site: Site, accountId: string, { email, role }: Wanted, caller: Caller): Promise<Wanted | Response> {
  const { memberships } = site.people()
  const problem = await memberships.roleProblem(email, { accountId, role })
  if (problem !== undefined) return refused(problem)
  if (!(await isNoted(site, caller, { email, accountId, access: role }))) return unbooked()
  // Another owner may have acted while the line was written.
  const changed = await memberships.changeRole(email, { accountId, role })
  return changed === undefined ? { email, role } : refused(changed)
}

/** Removes the person before the audit log has its line, so that access ends even while the ledger cannot write. */
async function remove(site: Site, accountId: string, email: string, caller: Caller): Promise<Readonly<{ email: string }> | Response> {
  const removed = await site.people().memberships.remove(email, { accountId, keepsOwner: true })
  if (removed !== 'removed') return refused(removed)
  if (!(await isNoted(site, caller, { email, accountId, access: 'none' })))
    return refuse(503, 'Removed. It could not be written into the audit log at this moment')
  return { email }
}

const refused = (problem: 'none' | 'last owner'): Response =>
  problem === 'none' ? missing() : refuse(409, 'An account keeps one owner: make another person an owner first')

const unbooked = (): Response => refuse(503, 'Nothing can be booked at this moment. Try again', { retryAfterS: 1 })
