/**
 * The sign-in routes: better-auth's own under `/cabinet/auth` and `/console/auth`, and ours beside them, by which people ask for one-time links and follow them.
 * Rules: pages.md "Sign-in routes", "Links", "Failed sign-ins".
 */

import { Elysia, t } from 'elysia'
import { signInMail } from '../../people/email-templates.ts'
import { emailOf } from '../../people/memberships.ts'
import type { Listener } from '../../people/origins.ts'
import type { People } from '../../people/people.ts'
import type { Person } from '../../people/sessions.ts'
import { missing, tooManyAttempts, wrongEmail } from './answers.ts'
import { addressOf } from './caller.ts'
import { EMAIL, found, linkIsGone, sent, TOKEN, welcome } from './entry.ts'
import { askIdentity } from './identity-answer.ts'

/** better-auth reads the body itself. */
const RAW = { parse: 'none' } as const

export const signInRoutes = <const L extends Listener>(people: () => People, listener: L) => {
  const passOn = ({ request }: { request: Request }): Promise<Response> => askIdentity(people(), listener, request)
  return (
    new Elysia({ name: `sign-in routes ${listener}`, prefix: `/${listener}` })
      .post(
        '/auth/link',
        async ({ body, request }) => {
          const person = await found(people(), request.headers, () => people().links.follow(listener, body.token))
          if (person instanceof Response) return person
          if (!(await mayEnter(people(), listener, person))) return linkIsGone()
          return welcome(people(), listener, person, request.headers)
        },
        { body: t.Object({ token: TOKEN }) },
      )
      .post(
        '/auth/mail-link',
        ({ body, request }) => {
          if (!people().sendsMail) return missing()
          const email = emailOf(body.email)
          if (email === undefined) return wrongEmail()
          const attempt = people().delays.begin(addressOf(request.headers), email, people().monotonicMs())
          if ('refusedMs' in attempt) return tooManyAttempts(attempt.refusedMs)
          return sent(people(), () => writeSignInLink(people(), listener, email))
        },
        { body: t.Object({ email: EMAIL }) },
      )
      // Each method has its own route, since `all` ranks behind the pages' route for every other GET.
      .get('/auth/*', passOn, RAW)
      .post('/auth/*', passOn, RAW)
  )
}

async function writeSignInLink(people: People, listener: Listener, email: string): Promise<void> {
  const person = await people.memberships.byEmail(email)
  if (person !== undefined && (await mayEnter(people, listener, person)))
    await people.mail(email, `${listener} link`, async () => signInMail(await people.signInLink(listener, person)))
}

const mayEnter = async (people: People, listener: Listener, person: Person): Promise<boolean> =>
  listener === 'cabinet' || (await people.memberships.isOperator(person.id))
