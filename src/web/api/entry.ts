/** What the sign-in routes share: fields of their forms, and answers. Rules: pages.md "Sign-in routes", "Links". */

import { t } from 'elysia'
import type { Listener } from '../../people/origins.ts'
import { PASSWORD_CHARS } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import type { Person } from '../../people/sessions.ts'
import { refuse, tooManyAttempts } from './answers.ts'
import { addressOf } from './caller.ts'

export const TOKEN = t.String({ minLength: 1, maxLength: 100, description: 'The link is not whole' })
export const PASSWORD = t.String({
  minLength: PASSWORD_CHARS.min,
  maxLength: PASSWORD_CHARS.max,
  description: `A password has ${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`,
})
export const EMAIL = t.String({ maxLength: 254, description: 'This is no e-mail address' })
/** A name has no control characters, since operators also see it in a terminal, which obeys them. */
export const PERSON_NAME = t.String({
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'A name has at most 100 characters, of those that can be seen',
})

/** The answer to a sign-in: the person, with the cookie of a new session. */
export async function welcome(people: People, listener: Listener, person: Person, headers: Headers): Promise<Response> {
  const from = { address: addressOf(headers), userAgent: headers.get('user-agent') ?? '' }
  const cookie = await people.sessions.start(listener, person.id, from, people.origins(listener).isHttps)
  return Response.json({ person }, { headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } })
}

/** Gives a known and an unknown address the same answer, equally soon. */
export function sent(people: People, write: () => Promise<unknown>): Response {
  people.later(write)
  return Response.json({ sent: true }, { status: 202, headers: { 'cache-control': 'no-store' } })
}

/**
 * Looks a link up, whose client may be anyone: `find` asks the store. A client that sends links which are not there is refused before the store is asked, since people who
 * are signed in wait for the same store.
 */
export async function found<Link>(people: People, headers: Headers, find: () => Promise<Link | undefined>): Promise<Link | Response> {
  const address = addressOf(headers)
  const waitS = people.unknownLinkTurns.waitS(address, people.monotonicMs())
  if (waitS > 0) return tooManyAttempts(waitS * 1_000)
  const link = await find()
  if (link === undefined) return linkIsGone()
  people.unknownLinkTurns.giveBack(address)
  return link
}

export const linkIsGone = (): Response => refuse(410, 'This link has been used or has expired. Ask for a new one')
