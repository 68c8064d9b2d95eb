/** The person who is signed in, the accounts of this person, the sign-in routes that exist, and the person's sessions. Rules: pages.md "People", "Sessions", "Signing up". */

import { Elysia } from 'elysia'
import type { Membership } from '../../people/memberships.ts'
import type { Listener } from '../../people/origins.ts'
import type { People } from '../../people/people.ts'
import { missing } from './answers.ts'
import { callerMacro, callerOf } from './caller.ts'

/** `accountName`: the name of an account in the ledger, read in the name of the person with `personId`. */
export type MeParts = Readonly<{ people: () => People; accountName: (accountId: string, personId: string) => Promise<string> }>

export const meRoutes = <const L extends Listener>({ people, accountName }: MeParts, listener: L) =>
  new Elysia({ name: `me ${listener}`, prefix: `/${listener}/api` })
    .use(callerMacro(people, listener))
    .get('/me', async ({ request, set }) => {
      set.headers['cache-control'] = 'no-store'
      const caller = await callerOf(people(), listener, request.headers)
      const origins = people().origins(listener)
      const known = {
        ways: { password: true, passkey: origins.passkeyHost !== undefined, mail: people().sendsMail },
        sign_up: listener === 'cabinet' ? people().settings.signUp : ('closed' as const),
      }
      if (caller === undefined) return { person: null, accounts: [], is_complete: true, ...known }
      const { person } = caller
      // A sign-up that a crash interrupted is finished here.
      const isComplete = await people().finishSignUp(person, caller.address)
      const memberships = listener === 'cabinet' ? await people().memberships.ofPerson(person.id) : []
      const described = async ({ accountId, role }: Membership) => ({ id: accountId, name: await accountName(accountId, person.id), role })
      return {
        person: { ...person, has_password: await people().memberships.hasPassword(person.id) },
        accounts: await Promise.all(memberships.map(described)),
        is_complete: isComplete,
        ...known,
      }
    })
    .get(
      '/sessions',
      async ({ caller, set }) => {
        set.headers['cache-control'] = 'no-store'
        const sessions = await people().sessions.list(listener, caller.person.id)
        const data = sessions.map(({ id, createdAt, expiresAt, address, userAgent }) => ({
          id,
          created_at: createdAt,
          expires_at: expiresAt,
          address,
          user_agent: userAgent,
          is_current: id === caller.sessionId,
        }))
        return { data }
      },
      { person: true },
    )
    .delete(
      '/sessions/:id',
      async ({ caller, params }) =>
        (await people().sessions.end(listener, caller.person.id, params.id)) ? new Response(null, { status: 204 }) : missing(),
      { person: true },
    )
    .delete('/sessions', async ({ caller }) => ({ ended: await people().sessions.endOthers(listener, caller) }), { person: true })
