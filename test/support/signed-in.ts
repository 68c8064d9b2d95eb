/** Somebody who signed in to the cabinet of a test gateway, as his browser asks it: JSON with `Browser`, and files as text. */

import { expect } from 'bun:test'
import type { Role } from '../../src/people/memberships.ts'
import type { TestGateway } from './gateway.ts'
import { Browser, PASSWORD } from './people.ts'

export async function signIn(gateway: TestGateway, email: string, accountId: string, role: Role): Promise<Browser> {
  const people = gateway.people()
  const browser = new Browser({ handle: (request) => fetch(request) }, people.origins('cabinet').base, 'cabinet', '192.0.2.1')
  const token = await people.links.invite(email, { accountId, role }, 'os:test')
  expect((await browser.post('/auth/invite', { token, password: PASSWORD })).status).toBe(200)
  return browser
}

/** `path`: below `/cabinet/api/accounts/`. */
export const fileOf = (browser: Browser, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${browser.base}/cabinet/api/accounts/${path}`, {
    headers: { ...headers, cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
  })
