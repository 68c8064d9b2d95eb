/** The routes of people that both apps have: the person who asks, and the sign-in routes. Rules: pages.md "People", "Sign-in routes", "Origin". */

import { Elysia } from 'elysia'
import { newId } from '../../ledger/operations/new-id.ts'
import type { Listener } from '../../people/origins.ts'
import type { Site } from '../site.ts'
import { apiErrors } from './answers.ts'
import { originGuard } from './caller.ts'
import { firstPassword } from './first-password.ts'
import { invited } from './invited.ts'
import { meRoutes } from './me.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { signUp } from './sign-up.ts'

/** An app uses these before every other route, since their guard of origins is for the whole app. */
export const peopleRoutes = <const L extends Listener>({ world, people }: Site, listener: L) =>
  new Elysia({ name: `people ${listener}` })
    .use(apiErrors())
    .use(originGuard(people, listener))
    .use(meRoutes({ people, accountName: accountNameOf(world) }, listener))
    .use(firstPassword(people, listener))
    .use(invited(people, listener, accountNameOf(world)))
    .use(signUp(people, () => newId('acc', world.clock.now()), listener))
    .use(signInRoutes(people, listener))

/** The name of an account; '' where the ledger cannot be read at this moment, or the account has no name. */
const accountNameOf =
  ({ reports }: Site['world']) =>
  async (accountId: string, personId: string): Promise<string> => {
    const account = await reports.ask(`person:${personId}`, { kind: 'account', accountId })
    return typeof account === 'object' ? account.name : ''
  }
