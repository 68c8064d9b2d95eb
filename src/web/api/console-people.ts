/** People for operators: listed, invited, removed, given links to come in by. Each act has its line in the audit log. Rules: pages.md "People", "Links", "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { isoTime } from '../../core/utc.ts'
import { resetMail, signInMail } from '../../people/email-templates.ts'
import { emailOf } from '../../people/memberships.ts'
import type { People } from '../../people/people.ts'
import type { Site } from '../site.ts'
import { invite } from './access.ts'
import { missing, refuse, wrongEmail } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, type ConsoleActs, NO_STORE, oneOf, REASON, wrongReason } from './console-acts.ts'
import { EMAIL } from './entry.ts'

/** An account; null: the console. */
const ACCOUNT_ID = t.Union([t.String({ maxLength: 64 }), t.Null()], { description: 'An account, or the console' })
const INVITE = t.Object({
  id: ACT_ID,
  email: EMAIL,
  account_id: ACCOUNT_ID,
  role: oneOf(['owner', 'reader'], 'An owner or a reader'),
  reason: REASON,
})
const REMOVE = t.Object({
  email: EMAIL,
  from: oneOf(['account', 'console', 'everything'], 'An account, the console or everything'),
  account_id: t.Optional(t.String({ maxLength: 64, description: 'An account' })),
  reason: REASON,
})
const LINK = t.Object({
  id: ACT_ID,
  email: EMAIL,
  link: oneOf(['password', 'sign-in'], 'A new password or a sign-in'),
  listener: oneOf(['cabinet', 'console'], 'The cabinet or the console'),
  reason: REASON,
})

const CHAT = t.Object({
  chat: t.String({ pattern: '^[1-9][0-9]{0,15}$', description: 'A chat of an account' }),
  account_id: t.String({ maxLength: 64, description: 'An account' }),
  reason: REASON,
})

const NOT_OF_ACCOUNT = 'Only a removal from an account names one'

export function consolePeople(site: Site, { ask, perform, once }: ConsoleActs) {
  const { people } = site
  const { clock } = site.world

  const inviteTo = async (caller: Caller, { email: typed, account_id: accountId, role, reason = '' }: Static<typeof INVITE>) => {
    const email = emailOf(typed)
    if (email === undefined) return wrongEmail()
    if (accountId !== null) {
      const account = await ask<'account'>(caller, { kind: 'account', accountId })
      if (account === undefined) return refuse(400, 'There is no such account', { field: 'account_id' })
      if (account instanceof Response) return account
    }
    const membership = accountId === null ? null : { accountId, role }
    return wrongReason(reason) ?? invite(site, caller, { email, membership, by: 'operator', reason })
  }

  const putOut = async (caller: Caller, { email: typed, from, account_id: accountId, reason }: Static<typeof REMOVE>) => {
    const email = emailOf(typed)
    if (email === undefined) return wrongEmail()
    if (from === 'account' && accountId === undefined) return refuse(400, 'Which account?', { field: 'account_id' })
    if (from !== 'account' && accountId !== undefined) return refuse(400, NOT_OF_ACCOUNT, { field: 'account_id' })
    if (email === caller.person.email && from !== 'account')
      return refuse(409, 'You cannot put yourself out. Another operator can, or the command line')
    const what = from === 'account' ? { accountId: accountId ?? '' } : from === 'console' ? 'operator' : 'all'
    // Access is removed before the audit log has its line, so that it ends even while the ledger cannot write.
    if ((await people().memberships.remove(email, what)) === 'none') return missing()
    const ofAccount = from === 'account' ? (accountId ?? null) : null
    const noted = await perform({ kind: 'setAccess', email, accountId: ofAccount, access: 'none', now: clock.now() }, caller, reason)
    return noted instanceof Response ? noted : { email, removed_from: from }
  }

  const giveLink = async (caller: Caller, { email: typed, link: kind, listener, reason }: Static<typeof LINK>) => {
    const email = emailOf(typed)
    const person = email === undefined ? undefined : await people().memberships.byEmail(email)
    if (email === undefined || person === undefined) return missing()
    if (listener === 'console' && !(await people().memberships.isOperator(person.id))) return refuse(409, 'This person is no operator')
    const noted = await perform({ kind: 'giveLink', email, link: kind, listener, now: clock.now() }, caller, reason)
    if (noted instanceof Response) return noted
    const isReset = kind === 'password'
    const link = isReset
      ? `${people().origins(listener).base}/${listener}/reset/${await people().links.reset(person.id)}`
      : await people().signInLink(listener, person)
    const letter = () => (isReset ? resetMail(link) : signInMail(link))
    return { email, link, is_mailed: await people().mail(email, `${listener} ${kind} by operator`, letter) }
  }

  const removeChat = async (caller: Caller, { chat: id, account_id: accountId, reason }: Static<typeof CHAT>) => {
    const found = (await people().chats.list({ accountId })).find(({ chat }) => String(chat) === id)
    if (found === undefined) return missing()
    // As above: a chat that must end has ended, even while the ledger cannot write.
    await people().chats.remove(accountId, found.chat)
    const operation = { kind: 'setChat', email: found.email, accountId, chat: id, state: 'removed', now: clock.now() } as const
    const noted = await perform(operation, caller, reason)
    return noted instanceof Response ? noted : { chat: id }
  }

  return new Elysia({ name: 'console people', prefix: '/console/api/people' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get('', ({ caller }) => named(people(), (accountIds) => ask<'names'>(caller, { kind: 'names', accountIds, keyIds: [] })), {
      person: true,
    })
    .post('/invite', ({ caller, body }) => once(caller, 'invite', body.id, () => inviteTo(caller, body)), { person: true, body: INVITE })
    .post('/remove', ({ caller, body }) => putOut(caller, body), { person: true, body: REMOVE })
    .post('/chat/remove', ({ caller, body }) => removeChat(caller, body), { person: true, body: CHAT })
    .post('/link', ({ caller, body }) => once(caller, 'link', body.id, () => giveLink(caller, body)), { person: true, body: LINK })
}

/** With the names of accounts; one that cannot be read now is ''. */
async function named(people: People, namesOf: (accountIds: readonly string[]) => Promise<Readonly<Record<string, string>> | Response>) {
  const { data, invitations, ...rest } = await listOf(people)
  const ids = [
    ...data.flatMap(({ accounts }) => accounts.map(({ id }) => id)),
    ...invitations.flatMap(({ account_id }) => account_id ?? []),
  ]
  const found = await namesOf([...new Set(ids)])
  const names = found instanceof Response ? {} : found
  return {
    ...rest,
    data: data.map((person) => ({ ...person, accounts: person.accounts.map((one) => ({ ...one, name: names[one.id] ?? '' })) })),
    invitations: invitations.map((one) => ({ ...one, account_name: names[one.account_id ?? ''] ?? '' })),
  }
}

export async function listOf({ sendsMail, memberships, links, chats }: People) {
  const chatsBy = Map.groupBy(await chats.list(), ({ email }) => email)
  return {
    sends_mail: sendsMail,
    data: (await memberships.list()).map(({ email, name, isOperator, memberships: accounts, sessions }) => ({
      email,
      name,
      is_operator: isOperator,
      accounts: accounts.map(({ accountId, role }) => ({ id: accountId, role })),
      sessions,
      /** Chats with the cabinet's bot. */
      chats: (chatsBy.get(email) ?? []).map((chat) => ({ chat: String(chat.chat), name: chat.name, account_id: chat.accountId })),
    })),
    invitations: (await links.invitations()).map(({ email, membership, invitedBy, expiresAt }) => ({
      email,
      account_id: membership?.accountId ?? null,
      role: membership?.role ?? ('operator' as const),
      invited_by: invitedBy,
      expires_at: isoTime(expiresAt),
    })),
  }
}
