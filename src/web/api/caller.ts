/**
 * The caller of a page's endpoint: the person, the address, and the page's origin. `person: true` on a route gives its handler the person; `member: 'reader' | 'owner'` on
 * one with `:accountId` the membership too. A request that changes something must come from a page of ours. Rules: pages.md "People", "Origin", "Sessions".
 */

import { Elysia, ElysiaCustomStatusResponse } from 'elysia'
import type { Membership, Role } from '../../people/memberships.ts'
import type { Listener } from '../../people/origins.ts'
import type { People } from '../../people/people.ts'
import type { Person } from '../../people/sessions.ts'
import { refuse } from './answers.ts'

/** `address`: the client's address, for delays and the audit log. `actor`: the person as the audit log writes it. */
export type Caller = Readonly<{ person: Person; sessionId: string; address: string; actor: `person:${string}` }>

/** The gateway sets this header; a client's own header with this name is dropped. */
export const addressOf = (headers: Headers): string => headers.get('x-tollgate-client-address') ?? 'unknown'

/** The person who is signed in; undefined: no one is signed in. */
export async function callerOf(people: People, listener: Listener, headers: Headers): Promise<Caller | undefined> {
  const found = await people.signedIn(listener, headers.get('cookie'))
  return found === undefined ? undefined : { ...found, address: addressOf(headers), actor: `person:${found.person.email}` }
}

/** Guards every route of the app that uses it: a request other than GET and HEAD must name an origin of this listener's pages. */
export const originGuard = (people: () => People, listener: Listener) =>
  new Elysia({ name: `origin ${listener}` }).onRequest(({ request }) => {
    if (request.method === 'GET' || request.method === 'HEAD') return undefined
    const { allowed, base } = people().origins(listener)
    return allowed.includes(request.headers.get('origin') ?? '') ? undefined : refuse(403, `This works only from the pages at ${base}`)
  })

export const callerMacro = (people: () => People, listener: Listener) => {
  const admit = async (headers: Headers): Promise<Caller | ElysiaCustomStatusResponse<401, Refused>> =>
    (await callerOf(people(), listener, headers)) ?? refusal(401, 'Sign in first')
  return new Elysia({ name: `caller ${listener}` }).macro({
    person: (_isAsked: true) => ({
      resolve: async ({ request }) => {
        const caller = await admit(request.headers)
        return caller instanceof ElysiaCustomStatusResponse ? caller : { caller }
      },
    }),
    member: (needed: Role) => ({
      resolve: async ({ request, params, set }) => {
        const caller = await admit(request.headers)
        if (caller instanceof ElysiaCustomStatusResponse) return caller
        const membership = await people().memberships.membership(caller.person.id, (params as { accountId?: string }).accountId ?? '')
        if (membership === undefined) return refusal(404, 'There is nothing at this address')
        if (!mayDo(membership, needed)) return refusal(403, 'Only an owner of this account may do this')
        const waitS = request.method === 'GET' ? 0 : people().writePace.take(caller.person.id, people().monotonicMs())
        if (waitS === 0) return { caller, membership }
        set.headers['retry-after'] = String(waitS)
        return refusal(429, `Too many changes at once. Try again in ${waitS} s`)
      },
    }),
  })
}

type Refused = Readonly<{ error: Readonly<{ message: string }> }>

const refusal = <const Status extends number>(status: Status, message: string): ElysiaCustomStatusResponse<Status, Refused> =>
  new ElysiaCustomStatusResponse(status, { error: { message } }) as ElysiaCustomStatusResponse<Status, Refused>

const mayDo = ({ role }: Membership, needed: Role): boolean => role === 'owner' || needed === 'reader'
