/** An invitation: the answer that says what its link leads to, and coming in by it. Rules: pages.md "Links". */

import { Elysia, type Static, t } from 'elysia'
import type { Listener } from '../../people/origins.ts'
import { passwordHash } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import { refuse, tooBusy } from './answers.ts'
import { addressOf, callerOf } from './caller.ts'
import { found, linkIsGone, PASSWORD, PERSON_NAME, TOKEN, welcome } from './entry.ts'

const ACCEPT = t.Object({ token: TOKEN, password: t.Optional(PASSWORD), name: t.Optional(PERSON_NAME) })

/** `accountName`: the name of an account in the ledger, '' where it has none or the ledger cannot be read. `asker`: in whose name the ledger is read. */
export const invited = <const L extends Listener>(
  people: () => People,
  listener: L,
  accountName: (accountId: string, asker: string) => Promise<string>,
) => {
  const look = async (token: string, headers: Headers): Promise<Response> => {
    const invitation = await found(people(), headers, () => invitationFor(people(), listener, token))
    if (invitation instanceof Response) return invitation
    const { email, membership, expiresAt } = invitation
    const known = await people().memberships.byEmail(email)
    const isHere = known !== undefined && (await callerOf(people(), listener, headers))?.person.id === known.id
    const needs = isHere ? 'nothing' : known !== undefined && (await people().memberships.hasKey(known.id)) ? 'sign_in' : 'password'
    return Response.json(
      {
        email,
        account_id: membership?.accountId ?? null,
        account_name: membership === null ? '' : await accountName(membership.accountId, email),
        invited_by: personIn(invitation.invitedBy, email),
        role: membership?.role ?? null,
        needs,
        expires_at: new Date(expiresAt).toISOString(),
      },
      { headers: { 'cache-control': 'no-store' } },
    )
  }
  const accept = async ({ token, password, name = '' }: Static<typeof ACCEPT>, headers: Headers): Promise<Response> => {
    const invitation = await found(people(), headers, () => invitationFor(people(), listener, token))
    if (invitation instanceof Response) return invitation
    const signedInAs = (await callerOf(people(), listener, headers))?.person.id
    const address = addressOf(headers)
    const hash = password === undefined ? undefined : await people().passwordTurns.take(address, () => passwordHash(password))
    if (password !== undefined && hash === undefined) return tooBusy()
    const accepted = await people().links.accept(token, { signedInAs, name, password: hash })
    switch (accepted.result) {
      case 'joined':
        await people().finishSignUp(accepted.person, address)
        return welcome(people(), listener, accepted.person, headers)
      case 'signIn':
        return refuse(401, 'Sign in with the e-mail that was invited, then open this link again')
      case 'gone':
        return linkIsGone()
    }
  }
  return new Elysia({ name: `invited ${listener}`, prefix: `/${listener}` })
    .get('/api/invitations/:token', ({ params, request }) => look(params.token, request.headers))
    .post('/auth/invite', ({ body, request }) => accept(body, request.headers), { body: ACCEPT })
}

/** The e-mail of the person who invites; null: an operator at the command line, or the invited person's own sign-up. */
const personIn = (actor: string, email: string): string | null => {
  const by = actor.startsWith('person:') ? actor.slice('person:'.length) : null
  return by === email ? null : by
}

/** The invitation with this token, if it leads to this listener. */
async function invitationFor(people: People, listener: Listener, token: string) {
  const invitation = await people.links.invitation(token)
  return invitation !== undefined && (invitation.membership === null) === (listener === 'console') ? invitation : undefined
}
