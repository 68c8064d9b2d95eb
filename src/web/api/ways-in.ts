/**
 * The ways in: better-auth's own under `/cabinet/auth` and `/console/auth`, and ours beside them – one-time links, invitations, signing up.
 * Rules: pages.md "Ways in", "Links", "Failed sign-ins", "Signing up".
 */

import { Elysia, t } from 'elysia'
import { step } from '../../core/rate-limit.ts'
import { knownMail, signInMail, signUpMail } from '../../people/letters.ts'
import type { Listener } from '../../people/origins.ts'
import { PASSWORD_CHARS, passwordHash } from '../../people/password.ts'
import type { People } from '../../people/people.ts'
import { emailOf } from '../../people/roster.ts'
import type { Person } from '../../people/sessions.ts'
import { missing, refuse, tooBusy, tooManyAttempts, wrongEmail } from './answers.ts'
import { addressOf, callerOf } from './caller.ts'
import { askIdentity } from './identity-answer.ts'

const TOKEN = t.String({ minLength: 1, maxLength: 100, description: 'The link is not whole' })
export const PASSWORD = t.String({
  minLength: PASSWORD_CHARS.min,
  maxLength: PASSWORD_CHARS.max,
  description: `A password has ${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters`,
})
const EMAIL = t.String({ maxLength: 254, description: 'This is no e-mail address' })
/** Operators see it in a terminal, too, which obeys control characters. */
const NAME = t.String({
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'A name has at most 100 characters, of those that can be seen',
})
/** better-auth reads the body itself. */
const RAW = { parse: 'none' } as const
/** Of all together: an account is in the ledger for ever, and a mail goes to somebody who may not know us. */
const SIGN_UPS = { perMinute: 30, burst: 100 }
const LINK_IS_GONE = 'This link has been used or has expired. Ask for a new one'

export const waysIn = <const L extends Listener>(people: () => People, newAccountId: () => string, listener: L) => {
  /** The answer to a sign-in: the person, with the cookie of a new session. */
  const welcome = async (person: Person, headers: Headers): Promise<Response> => {
    const from = { address: addressOf(headers), userAgent: headers.get('user-agent') ?? '' }
    const cookie = await people().sessions.start(listener, person.id, from, people().origins(listener).isHttps)
    return Response.json({ person }, { headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } })
  }
  let signUps: number | undefined
  const passOn = ({ request }: { request: Request }): Promise<Response> => askIdentity(people(), listener, request)
  return (
    new Elysia({ name: `ways in ${listener}`, prefix: `/${listener}` })
      .post(
        '/auth/link',
        async ({ body, request }) => {
          const person = await people().links.follow(listener, body.token)
          if (person === undefined || !(await mayEnter(people(), listener, person))) return refuse(410, LINK_IS_GONE)
          return welcome(person, request.headers)
        },
        { body: t.Object({ token: TOKEN }) },
      )
      .get('/api/invitations/:token', async ({ params, request }) => {
        const invitation = await invitationFor(people(), listener, params.token)
        if (invitation === undefined) return refuse(410, LINK_IS_GONE)
        const { email, membership, expiresAt } = invitation
        const known = await people().roster.byEmail(email)
        const isHere = known !== undefined && (await callerOf(people(), listener, request.headers))?.person.id === known.id
        const needs = isHere ? 'nothing' : known !== undefined && (await people().roster.hasKey(known.id)) ? 'sign_in' : 'password'
        return Response.json(
          {
            email,
            account_id: membership?.accountId ?? null,
            role: membership?.role ?? null,
            needs,
            expires_at: new Date(expiresAt).toISOString(),
          },
          { headers: { 'cache-control': 'no-store' } },
        )
      })
      .post(
        '/auth/invite',
        async ({ body, request }) => {
          const { token, password, name = '' } = body
          if ((await invitationFor(people(), listener, token)) === undefined) return refuse(410, LINK_IS_GONE)
          const signedInAs = (await callerOf(people(), listener, request.headers))?.person.id
          const address = addressOf(request.headers)
          const hash = password === undefined ? undefined : await people().passwordTurns.take(address, () => passwordHash(password))
          if (password !== undefined && hash === undefined) return tooBusy()
          const accepted = await people().links.accept(token, { signedInAs, name, password: hash })
          switch (accepted.result) {
            case 'joined':
              await people().finishSignUp(accepted.person, address)
              return welcome(accepted.person, request.headers)
            case 'signIn':
              return refuse(401, 'Sign in with the e-mail that was invited, then open this link again')
            case 'gone':
              return refuse(410, LINK_IS_GONE)
          }
        },
        { body: t.Object({ token: TOKEN, password: t.Optional(PASSWORD), name: t.Optional(NAME) }) },
      )
      .post(
        '/auth/sign-up',
        async ({ body, request }) => {
          if (listener === 'console' || people().settings.signUp === 'closed') return missing()
          const email = emailOf(body.email)
          if (email === undefined) return wrongEmail()
          const { password } = body
          const address = addressOf(request.headers)
          const attempt = people().delays.begin(address, email, people().monotonicMs())
          if ('refusedMs' in attempt) return tooManyAttempts(attempt.refusedMs)
          const { tat, isAllowed, retryAfterSeconds } = step(signUps, people().monotonicMs(), SIGN_UPS)
          signUps = tat
          if (!isAllowed) return refuse(503, 'Too many sign up at this moment. Try again in a minute', { retryAfterS: retryAfterSeconds })
          if (people().sendsMail) return sent(people(), () => writeToSigner(people(), email, newAccountId()))
          if (password === undefined) return refuse(400, 'Choose a password', { field: 'password' })
          const hash = await people().passwordTurns.take(address, () => passwordHash(password))
          if (hash === undefined) return tooBusy()
          const person = await people().signUp({ email, name: body.name ?? '', password: hash, accountId: newAccountId() })
          if (person === undefined) return refuse(409, 'This e-mail has an account: sign in', { field: 'email' })
          if (!(await people().finishSignUp(person, address))) return refuse(503, 'Your account is being made. Sign in in a minute')
          return welcome(person, request.headers)
        },
        { body: t.Object({ email: EMAIL, password: t.Optional(PASSWORD), name: t.Optional(NAME) }) },
      )
      .post(
        '/auth/mail-link',
        ({ body, request }) => {
          if (!people().sendsMail) return missing()
          const email = emailOf(body.email)
          if (email === undefined) return wrongEmail()
          const attempt = people().delays.begin(addressOf(request.headers), email, people().monotonicMs())
          return 'refusedMs' in attempt
            ? tooManyAttempts(attempt.refusedMs)
            : sent(people(), () => writeSignInLink(people(), listener, email))
        },
        { body: t.Object({ email: EMAIL }) },
      )
      // Each method by its name: `all` would stand behind the page, which has every GET that nobody else wants.
      .get('/auth/*', passOn, RAW)
      .post('/auth/*', passOn, RAW)
  )
}

/** The same for an address that is known and one that is not, and as soon. */
function sent(people: People, write: () => Promise<unknown>): Response {
  people.later(write)
  return Response.json({ sent: true }, { status: 202, headers: { 'cache-control': 'no-store' } })
}

async function writeSignInLink(people: People, listener: Listener, email: string): Promise<void> {
  const person = await people.roster.byEmail(email)
  if (person !== undefined && (await mayEnter(people, listener, person)))
    await people.mail(email, `${listener} link`, async () => signInMail(await people.signInLink(listener, person)))
}

/** Whoever reads the mail owns the address: a new one gets the link to a new account, a known one hears of it. */
function writeToSigner(people: People, email: string, accountId: string): Promise<unknown> {
  const { base } = people.origins('cabinet')
  return people.mail(email, 'sign-up', async () => {
    if ((await people.roster.byEmail(email)) !== undefined) return knownMail(base)
    const token = await people.links.invite(email, { accountId, role: 'owner' }, `person:${email}`, email)
    return signUpMail(`${base}/cabinet/invite/${token}`)
  })
}

const mayEnter = async (people: People, listener: Listener, person: Person): Promise<boolean> =>
  listener === 'cabinet' || (await people.roster.isOperator(person.id))

/** An invitation is followed on the listener that it leads to. */
async function invitationFor(people: People, listener: Listener, token: string) {
  const invitation = await people.links.invitation(token)
  return invitation !== undefined && (invitation.membership === null) === (listener === 'console') ? invitation : undefined
}
