/** Signing up: an account of one's own, at once or by a link that is mailed. Rules: pages.md "Signing up", "Failed sign-ins". */

import { Elysia, type Static, t } from 'elysia'
import { knownMail, signUpMail } from '../../people/email-templates.ts'
import { emailOf } from '../../people/memberships.ts'
import type { Listener } from '../../people/origins.ts'
import { passwordHash } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import { missing, refuse, tooBusy, tooManyAttempts, wrongEmail } from './answers.ts'
import { addressOf } from './caller.ts'
import { EMAIL, PASSWORD, PERSON_NAME, sent, welcome } from './entry.ts'

const SIGN_UP = t.Object({ email: EMAIL, password: t.Optional(PASSWORD), name: t.Optional(PERSON_NAME) })

export const signUp = <const L extends Listener>(people: () => People, newAccountId: () => string, listener: L) => {
  const begin = async ({ email: typed, password, name = '' }: Static<typeof SIGN_UP>, headers: Headers): Promise<Response> => {
    if (listener === 'console' || people().settings.signUp === 'closed') return missing()
    const email = emailOf(typed)
    if (email === undefined) return wrongEmail()
    const address = addressOf(headers)
    const attempt = people().delays.begin(address, email, people().monotonicMs())
    if ('refusedMs' in attempt) return tooManyAttempts(attempt.refusedMs)
    const waitS = people().signUpTurns.waitS(people().monotonicMs())
    if (waitS > 0) return refuse(503, 'Too many sign up at this moment. Try again in a minute', { retryAfterS: waitS })
    if (people().sendsMail) return sent(people(), () => writeToSigner(people(), email, newAccountId()))
    if (password === undefined) return refuse(400, 'Choose a password', { field: 'password' })
    const hash = await people().passwordTurns.take(address, () => passwordHash(password))
    if (hash === undefined) return tooBusy()
    const person = await people().signUp({ email, name, password: hash, accountId: newAccountId() })
    if (person === undefined) return refuse(409, 'This e-mail has an account: sign in', { field: 'email' })
    if (!(await people().finishSignUp(person, address))) return refuse(503, 'Your account is being made. Sign in in a minute')
    return welcome(people(), listener, person, headers)
  }
  return new Elysia({ name: `sign-up ${listener}`, prefix: `/${listener}` }).post(
    '/auth/sign-up',
    ({ body, request }) => begin(body, request.headers),
    { body: SIGN_UP },
  )
}

/** Mails a new address the link to a new account, since reading the mail proves the address; a known address is told of the attempt. */
function writeToSigner(people: People, email: string, accountId: string): Promise<unknown> {
  const { base } = people.origins('cabinet')
  return people.mail(email, 'sign-up', async () => {
    if ((await people.memberships.byEmail(email)) !== undefined) return knownMail(base)
    const token = await people.links.invite(email, { accountId, role: 'owner' }, `person:${email}`, email)
    return signUpMail(`${base}/cabinet/invite/${token}`)
  })
}
