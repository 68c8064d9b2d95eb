/** What the sign-in routes share: fields of their forms, and answers. Rules: pages.md "Sign-in routes", "Links". */

import { t } from 'elysia'
import type { Listener } from '../../people/origins.ts'
import { PASSWORD_CHARS } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import type { Person } from '../../people/sessions.ts'
import { refuse } from './answers.ts'
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

export const linkIsGone = (): Response => refuse(410, 'This link has been used or has expired. Ask for a new one')
