/** An operator who is signed in on the console of a test gateway, asking as its pages do. */

import type { TestGateway } from './gateway.ts'

export type Operator = Readonly<{
  email: string
  cookie: string
  sessionId: string
  get(path: string): Promise<Response>
  /** `headers`: instead of the page's own. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
}>

/** Comes in by a one-time link. */
export async function signInOperator(gateway: TestGateway, email = 'ops@example.com'): Promise<Operator> {
  const people = gateway.people()
  const person = await people.known(email)
  await people.memberships.makeOperator(person.id)
  const token = (await people.signInLink('console', person)).split('/').at(-1)
  const origin = gateway.operatorUrl
  const headers = { origin, 'content-type': 'application/json' }
  const answer = await fetch(`${origin}/console/auth/link`, { method: 'POST', headers, body: JSON.stringify({ token }) })
  const cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  if (answer.status !== 200) throw new Error(`the link was answered ${answer.status}`)
  return {
    email,
    cookie,
    sessionId: (await people.signedIn('console', cookie))?.sessionId ?? '',
    get: (path) => fetch(`${origin}${path}`, { headers: { cookie } }),
    post: (path, body, more = headers) =>
      fetch(`${origin}${path}`, { method: 'POST', headers: { cookie, ...more }, body: JSON.stringify(body) }),
  }
}
