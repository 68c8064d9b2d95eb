/**
 * People over the operator's API: listed, invited, removed, given links to come in by. An invitation's link is in one answer alone. Rules: operator-api.md "Writes";
 * pages.md "People", "Links".
 */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import { invitationMail, resetMail, signInMail } from '../../people/email-templates.ts'
import { emailOf } from '../../people/memberships.ts'
import { listOf } from '../api/console-people.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, Failure, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { AT, AT_OR_NULL, ID, oneOf, orNull, REASON, sent } from './shapes.ts'

const EMAIL = t.String({ maxLength: 254, description: 'An e-mail address' })
const NO_EMAIL = 'This is no e-mail address'
const INVITATION = {
  email: t.String(),
  account_id: orNull(t.String(), 'null: to the console'),
  role: t.String({ enum: ['owner', 'reader', 'operator'] }),
  expires_at: AT('until when the link works'),
}
const PEOPLE = t.Object(
  {
    sends_mail: t.Boolean(),
    data: t.Array(
      t.Object(
        {
          email: t.String(),
          name: t.String(),
          is_operator: t.Boolean(),
          accounts: t.Array(t.Object({ id: t.String(), role: t.String() })),
          sessions: Type.Integer(),
        },
        { title: 'Person' },
      ),
    ),
    invitations: t.Array(t.Object({ ...INVITATION, invited_by: t.String() }, { title: 'Invitation' })),
  },
  { title: 'People', description: 'Who may come in, all of them' },
)
const LINK_FIELDS = {
  link: orNull(t.String(), 'Shown this once; null in the answer to a repetition'),
  link_shown: t.Boolean({ description: 'The first answer under this Idempotency-Key had the link' }),
  is_mailed: t.Boolean(),
}
const INVITED = t.Object(
  { ...INVITATION, expires_at: AT_OR_NULL('until when the link works; null: none is open now'), ...LINK_FIELDS },
  { title: 'Invited' },
)
const LINKED = t.Object({ email: t.String(), ...LINK_FIELDS }, { title: 'Linked' })
const REMOVED = t.Object({ email: t.String(), removed_from: t.String() }, { title: 'Removed' })
const INVITE = sent(
  {
    email: EMAIL,
    account_id: t.Optional(orNull(ID, 'null, or left out beside no role: the console')),
    role: t.Optional(oneOf(['owner', 'reader'], 'An owner or a reader of the account; owner without')),
    reason: REASON,
  },
  { title: 'InvitationToMake' },
)
const REMOVE = sent(
  {
    email: EMAIL,
    from: oneOf(['account', 'console', 'everything'], 'An account, the console or everything'),
    account_id: t.Optional(ID),
    reason: REASON,
  },
  { title: 'Removal' },
)
const LINK = sent(
  {
    email: EMAIL,
    link: oneOf(['password', 'sign-in'], 'A new password or a sign-in'),
    listener: oneOf(['cabinet', 'console'], 'The cabinet or the console'),
    reason: REASON,
  },
  { title: 'LinkToGive' },
)

function peopleActs({ site, world, acts: { ask, perform } }: Parts) {
  const { people } = site
  const { clock } = world
  const invite = async (caller: ApiCaller, body: Static<typeof INVITE>): Promise<Static<typeof INVITED> | Failure> => {
    const { account_id: accountId = null, role = 'owner', reason } = body
    const email = emailOf(body.email)
    if (email === undefined) return wrong('email', NO_EMAIL)
    if (body.account_id === undefined && body.role !== undefined)
      return wrong('account_id', 'A role is that of an account: name the account, or null for the console')
    const account = accountId === null ? null : await ask<'account'>(caller, { kind: 'account', accountId })
    if (account === undefined) return wrong('account_id', 'There is no such account')
    if (account instanceof Failure) return account
    const membership = accountId === null ? null : { accountId, role }
    const access = membership?.role ?? 'operator'
    // The line comes first, so that no link is without it.
    const done = await perform(caller, { kind: 'setAccess', email, accountId, access, now: clock.now() }, reason)
    if (done instanceof Failure) return done
    const shown = { email, account_id: accountId, role: access }
    if (done.repeats !== undefined) {
      const open = (await people().links.invitations(accountId ?? undefined)).find(
        (one) => one.email === email && (one.membership?.accountId ?? null) === accountId,
      )
      return { ...shown, expires_at: isoOrNull(open?.expiresAt ?? null), link: null, link_shown: true, is_mailed: false }
    }
    await people().links.withdraw(email, accountId)
    const listener = membership === null ? 'console' : 'cabinet'
    const token = await people().links.invite(email, membership, caller.actor)
    const link = `${people().origins(listener).base}/${listener}/invite/${token}`
    const isMailed = people().mayMail(email, `${listener} invitation`)
    if (isMailed) people().send(email, invitationMail(link))
    const expiresAt = (await people().links.invitation(token))?.expiresAt ?? 0
    return { ...shown, expires_at: isoTime(expiresAt), link, link_shown: false, is_mailed: isMailed }
  }
  const giveLink = async (
    caller: ApiCaller,
    { link: kind, listener, reason, ...body }: Static<typeof LINK>,
  ): Promise<Static<typeof LINKED> | Failure> => {
    const email = emailOf(body.email)
    const person = email === undefined ? undefined : await people().memberships.byEmail(email)
    if (email === undefined) return missing()
    const isWrongPlace = person !== undefined && listener === 'console' && !(await people().memberships.isOperator(person.id))
    const refusedAs = person === undefined ? missing() : isWrongPlace ? wrong('listener', 'This person is no operator') : undefined
    const done = await perform(caller, { kind: 'giveLink', email, link: kind, listener, now: clock.now() }, reason, refusedAs)
    if (done instanceof Failure) return done
    if (done.repeats !== undefined || person === undefined) return { email, link: null, link_shown: true, is_mailed: false }
    const isReset = kind === 'password'
    const link = isReset
      ? `${people().origins(listener).base}/${listener}/reset/${await people().links.reset(person.id)}`
      : await people().signInLink(listener, person)
    const letter = () => (isReset ? resetMail(link) : signInMail(link))
    return { email, link, link_shown: false, is_mailed: await people().mail(email, `${listener} ${kind} by operator`, letter) }
  }
  return { invite, giveLink }
}

function removing({ site: { people }, world: { clock }, acts: { perform } }: Parts) {
  return async (caller: ApiCaller, { from, account_id: accountId, reason, ...body }: Static<typeof REMOVE>) => {
    const email = emailOf(body.email)
    if (email === undefined) return wrong('email', NO_EMAIL)
    if (from === 'account' && accountId === undefined) return wrong('account_id', 'Which account?')
    if (from !== 'account' && accountId !== undefined) return wrong('account_id', 'Only a removal from an account names one')
    const what = from === 'account' ? { accountId: accountId ?? '' } : from === 'console' ? 'operator' : 'all'
    const ofAccount = from === 'account' ? (accountId ?? null) : null
    const operation = { kind: 'setAccess', email, accountId: ofAccount, access: 'none', now: clock.now() } as const
    const shown = { email, removed_from: from }
    const { memberships } = people()
    if (caller.by.once === null) {
      // Access ends even while the ledger cannot write.
      if ((await memberships.remove(email, what)) === 'none') return missing()
      const done = await perform(caller, operation, reason)
      return done instanceof Failure ? done : shown
    }
    // Under an Idempotency-Key the line comes first: what is refused, such as another body under it, removes nobody.
    const noted = await perform(caller, operation, reason, (await memberships.mayTake(email, what)) ? undefined : missing())
    if (noted instanceof Failure && noted.status !== 503) return noted
    // A first write may have died before this, so a repetition takes what was there then, and nothing that was given since.
    await memberships.remove(email, what, noted instanceof Failure ? undefined : noted.repeats?.at)
    return noted instanceof Failure ? noted : shown
  }
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['People'], summary, description })
const ALL = { scope: 'all', reach: 'gateway' } as const

export function peopleRoutes(parts: Parts) {
  const { invite, giveLink } = peopleActs(parts)
  const remove = removing(parts)
  return new Elysia({ name: 'operator api people', prefix: '/people' })
    .use(parts.macro)
    .get('', async () => answer(await listOf(parts.site.people())), {
      token: { scope: 'read', reach: 'gateway' },
      response: { 200: PEOPLE, ...ERRORS },
      detail: detail('listPeople', 'List people', 'Who may come into cabinet and console, and who is invited.'),
    })
    .post('/invite', async ({ caller, body }) => answer(await invite(caller, body)), {
      token: ALL,
      body: INVITE,
      response: { 200: INVITED, ...ERRORS },
      detail: detail('invitePerson', 'Invite a person', 'Makes a link that works once, in place of an earlier one.'),
    })
    .post('/remove', async ({ caller, body }) => answer(await remove(caller, body)), {
      token: ALL,
      body: REMOVE,
      response: { 200: REMOVED, ...ERRORS },
      detail: detail('removePerson', 'Remove a person', 'From an account, the console or everything; sessions end at once.'),
    })
    .post('/links', async ({ caller, body }) => answer(await giveLink(caller, body)), {
      token: ALL,
      body: LINK,
      response: { 200: LINKED, ...ERRORS },
      detail: detail('giveLink', 'Give a link', 'To sign in, or to a new password; it works once.'),
    })
}
