/**
 * Passes requests on to better-auth: only to its routes that we name, under our own origin whatever Host says, slowed down after failures, and with errors in
 * our form. Rules: pages.md "Sign-in routes", "Failed sign-ins", "Origin".
 */

import { emailOf } from '../../people/memberships.ts'
import type { Listener } from '../../people/origins.ts'
import type { People } from '../../people/people.ts'
import { missing, refuse, tooBusy, tooManyAttempts, wrongEmail } from './answers.ts'
import { addressOf, callerOf } from './caller.ts'

/** The routes of better-auth that pages use, as methods and paths behind the root; its other routes do not exist. */
const AUTH_ROUTES: ReadonlySet<string> = new Set([
  'POST /sign-in/email',
  'POST /sign-out',
  'POST /change-password',
  'POST /request-password-reset',
  'POST /reset-password',
  'GET /passkey/generate-register-options',
  'POST /passkey/verify-registration',
  'GET /passkey/generate-authenticate-options',
  'POST /passkey/verify-authentication',
  'GET /passkey/list-user-passkeys',
  'POST /passkey/delete-passkey',
  'POST /passkey/update-passkey',
])

const RESET = '/request-password-reset'
/** The routes that are slowed down after failures. */
const WITH_PASSWORD: ReadonlySet<string> = new Set(['/sign-in/email', '/change-password', '/reset-password', RESET])
/** The route that makes a challenge; it needs no session, so its turns are limited. */
const CHALLENGE = '/passkey/generate-authenticate-options'

export async function askIdentity(people: People, listener: Listener, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const way = pathname.slice(`/${listener}/auth`.length)
  if (!AUTH_ROUTES.has(`${request.method} ${way}`)) return missing()
  const waitS = way === CHALLENGE ? people.challengeTurns.waitS(addressOf(request.headers), people.monotonicMs()) : 0
  if (waitS > 0) return tooManyAttempts(waitS * 1_000)
  const body = request.method === 'GET' ? null : await request.text()
  const sent = new Request(`${people.origins(listener).base}${pathname}${search}`, {
    method: request.method,
    headers: request.headers,
    body,
  })
  const ask = async (): Promise<Response> => inOurWords(await (await people.identity(listener)).answer(sent))
  if (way === RESET && people.sendsMail) return resetAsked(people, request.headers, body ?? '', ask)
  return WITH_PASSWORD.has(way) ? slowed(people, listener, way, request.headers, body ?? '', ask) : ask()
}

/** Answers before the address is looked up, since a known address is written to the file and would get its answer later. */
function resetAsked(people: People, headers: Headers, body: string, ask: () => Promise<Response>): Response {
  const email = emailIn(body)
  if (email === undefined) return wrongEmail()
  const attempt = people.delays.begin(addressOf(headers), email, people.monotonicMs())
  if ('refusedMs' in attempt) return tooManyAttempts(attempt.refusedMs)
  people.later(ask)
  return Response.json({ status: true }, { headers: { 'cache-control': 'no-store' } })
}

async function slowed(
  people: People,
  listener: Listener,
  way: string,
  headers: Headers,
  body: string,
  ask: () => Promise<Response>,
): Promise<Response> {
  const address = addressOf(headers)
  const email = way === '/change-password' ? (await callerOf(people, listener, headers))?.person.email : emailIn(body)
  const attempt = people.delays.begin(address, email ?? '', people.monotonicMs())
  if ('refusedMs' in attempt) return tooManyAttempts(attempt.refusedMs)
  if (attempt.delayedMs > 0) await people.sleep(attempt.delayedMs)
  const answer = await people.passwordTurns.take(address, ask)
  if (answer?.ok === true && way !== RESET) attempt.succeeded()
  return answer ?? tooBusy()
}

function emailIn(body: string): string | undefined {
  try {
    const { email } = JSON.parse(body) as { email?: unknown }
    return typeof email === 'string' ? emailOf(email) : undefined
  } catch {
    return undefined
  }
}

/** Turns better-auth's `{ message, code }` into our form of errors. The session's secret is taken out of its answers: it belongs in the cookie alone. */
async function inOurWords(answer: Response): Promise<Response> {
  const headers = new Headers(answer.headers)
  headers.set('cache-control', 'no-store')
  headers.delete('content-length')
  const document = (await answer.json().catch(() => null)) as Record<string, unknown> | null
  if (answer.ok) {
    if (document !== null && 'token' in document) delete document['token']
    if (document !== null && 'session' in document) delete document['session']
    return new Response(JSON.stringify(document ?? {}), { status: answer.status, headers })
  }
  const said = typeof document?.['message'] === 'string' ? document['message'] : 'This does not work now'
  return refuse(answer.status, answer.status >= 500 ? 'Something went wrong on our side; try again' : said)
}
