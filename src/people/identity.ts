/**
 * better-auth as one listener's sign-in routes: passwords, their reset by mail, passkeys. better-auth is two megabytes, so this file is imported with the first
 * sign-in. `web/api/identity-answer.ts` says which of its routes pages may ask. Rules: pages.md "Sign-in routes", "Sessions".
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { passkey } from '@better-auth/passkey'
import { type BetterAuthOptions, betterAuth } from 'better-auth'
import { APIError } from 'better-auth/api'
import { kyselyOver } from './kysely-over.ts'
import type { Listener, Origins } from './origins.ts'
import { PASSWORD_CHARS, passwordHash } from './password.ts'
import { PeopleAway, type PeopleSql } from './people-sql.ts'
import { cookieNameOf, SESSION_S } from './sessions.ts'

export type IdentityOptions = Readonly<{
  sql: PeopleSql
  listener: Listener
  origins: Origins
  /** The secret that signs cookies. */
  secret: string
  isOperator: (personId: string) => Promise<boolean>
  /** Takes the secret of a link that sets a new password; undefined: no mail is set up. */
  sendReset: ((email: string, token: string) => Promise<unknown>) | undefined
  /** Called after a person has set a new password by a link. */
  onReset: (personId: string) => Promise<void>
  onBug: (bug: unknown) => void
}>

/** Answers a request whose path begins with `/cabinet/auth` or `/console/auth`. Rejects with PeopleAway where the store could not be asked. */
export type Identity = Readonly<{ answer(request: Request): Promise<Response> }>

const RESET_S = 3_600

export function makeIdentity(options: IdentityOptions): Identity {
  const asked = new AsyncLocalStorage<IdentityCall>()
  const auth = betterAuth(optionsOf({ ...options, sql: noticing(options.sql, asked) }))
  return {
    async answer(request) {
      const one: IdentityCall = {}
      const answer = await asked.run(one, () => auth.handler(request))
      if (one.away !== undefined) throw one.away
      return answer
    },
  }
}

/** The state of one call: whether the people's store was away. */
type IdentityCall = { away?: PeopleAway }

/** Notes that the store was away: better-auth then answers 500, or says that it is done, even when a sign-out has ended nothing. */
const noticing = (sql: PeopleSql, asked: AsyncLocalStorage<IdentityCall>): PeopleSql => ({
  ...sql,
  async ask(text, given) {
    try {
      return await sql.ask(text, given)
    } catch (error) {
      const one = asked.getStore()
      if (one !== undefined && error instanceof PeopleAway) one.away = error
      throw error
    }
  },
})

/** Exported for the test that compares the tables with what better-auth would make. */
export function optionsOf({ sql, listener, origins, secret, isOperator, sendReset, onReset, onBug }: IdentityOptions) {
  const { base, allowed, isHttps, passkeyHost } = origins
  const cookie = cookieNameOf(listener, isHttps)
  return {
    appName: 'Tollgate',
    database: kyselyOver(sql),
    secret,
    baseURL: base,
    basePath: `/${listener}/auth`,
    trustedOrigins: [...allowed],
    telemetry: { enabled: false },
    logger: { disabled: true },
    onAPIError: {
      onError: (error: unknown) => {
        if (error instanceof PeopleAway) throw error
        if (!isRefusal(error)) onBug(error)
      },
    },
    // Our own delays, per address and per e-mail, take the place of this limit, and never lock out a person.
    rateLimit: { enabled: false },
    user: { modelName: 'person' },
    account: { modelName: 'credential' },
    session: {
      expiresIn: SESSION_S[listener],
      disableSessionRefresh: true,
      additionalFields: { listener: { type: 'string' as const, required: true, input: false } },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: PASSWORD_CHARS.min,
      maxPasswordLength: PASSWORD_CHARS.max,
      password: { hash: passwordHash, verify: ({ hash, password }) => Bun.password.verify(password, hash) },
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: ({ user }) => onReset(user.id),
      resetPasswordTokenExpiresIn: RESET_S,
      // The mail is not awaited: the answer for a known address must not come later than that for an unknown one.
      ...(sendReset === undefined
        ? {}
        : {
            sendResetPassword: ({ user, token }) => {
              sendReset(user.email, token).catch(onBug)
              return Promise.resolve()
            },
          }),
    },
    databaseHooks: {
      session: {
        create: {
          before: async (session, context) => {
            if (listener === 'console' && !(await isOperator(session.userId)))
              throw new APIError('UNAUTHORIZED', { message: 'Invalid email or password', code: 'INVALID_EMAIL_OR_PASSWORD' })
            const address = context?.headers?.get('x-tollgate-client-address') ?? ''
            return { data: { ...session, listener, ipAddress: address } }
          },
        },
      },
    },
    advanced: {
      // Our own migrations make the tables; a test compares them with what better-auth expects.
      database: { validateSchema: false },
      // The cookies' names have their own prefix.
      useSecureCookies: false,
      cookiePrefix: cookie,
      defaultCookieAttributes: { secure: isHttps, sameSite: 'lax', httpOnly: true, path: '/' },
      cookies: { session_token: { name: cookie } },
      ipAddress: { disableIpTracking: true },
    },
    plugins: passkeyHost === undefined ? [] : [passkey({ rpID: passkeyHost, rpName: 'Tollgate', origin: [...allowed] })],
  } satisfies BetterAuthOptions
}

/** Whether the error is a mistake of the request. It is known by its name: better-auth's request parser has an `APIError` class of its own, so `instanceof` would miss it. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && error.name === 'APIError' && Number((error as { statusCode?: unknown }).statusCode) < 500
