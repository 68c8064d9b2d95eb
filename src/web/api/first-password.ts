/**
 * A first password, for a person who came in by link or passkey: better-auth only changes existing ones. A stranger at a page that was left open cannot set one.
 * Rules: pages.md "Sign-in routes".
 */

import { Elysia, t } from 'elysia'
import type { Listener } from '../../people/origins.ts'
import { passwordHash } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import { refuse, tooBusy } from './answers.ts'
import { callerMacro } from './caller.ts'
import { PASSWORD } from './entry.ts'

export const firstPassword = <const L extends Listener>(people: () => People, listener: L) =>
  new Elysia({ name: `first password ${listener}`, prefix: `/${listener}/auth` }).use(callerMacro(people, listener)).post(
    '/first-password',
    async ({ caller: { person, sessionId, address }, body }) => {
      const { memberships, sessions, passwordTurns } = people()
      if (!(await sessions.isFresh(sessionId))) return refuse(403, 'You signed in more than a day ago. Sign in anew, then set a password')
      // This is checked before the hash is made, and again by the write, since another page may have been faster.
      if (await memberships.hasPassword(person.id)) return hasOne()
      const hash = await passwordTurns.take(address, () => passwordHash(body.password))
      if (hash === undefined) return tooBusy()
      return (await memberships.setFirstPassword(person.id, hash)) ? new Response(null, { status: 204 }) : hasOne()
    },
    { person: true, body: t.Object({ password: PASSWORD }) },
  )

const hasOne = (): Response => refuse(409, 'You have a password already: load the page anew to change it')
