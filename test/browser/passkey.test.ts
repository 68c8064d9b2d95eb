/** A passkey that was made on the page signs in again, without a password. Rules: pages.md "Sign-in routes". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { openBrowser } from './chromium.ts'

let gateway: TestGateway
let browser: Browser
beforeAll(async () => {
  ;[gateway, browser] = await Promise.all([startTestGateway(), openBrowser()])
}, 180_000)
afterAll(async () => {
  await browser.close()
  await gateway.stop()
})

/** With a key store of its own that says yes. */
async function openPage(url: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, automaticPresenceSimulation: true } })
  await page.goto(url)
  return page
}

/** Runs on the page: what its script would do. */
type Asked = Readonly<{ status: number; body: unknown }>
const onPage = (page: Page, script: string): Promise<Asked> =>
  page.evaluate(`(async () => {
    const ask = async (method, path, body) => {
      const init = body === undefined ? { method } : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      const answer = await fetch('/cabinet' + path, init)
      return { status: answer.status, body: await answer.json().catch(() => null) }
    }
    ${script}
  })()`) as Promise<Asked>

test('made once, it signs in without a password', async () => {
  const { links, memberships } = gateway.people()
  const token = await links.signIn('cabinet', (await memberships.add({ email: 'ann@example.com', name: 'Ann', isProven: true })).id)
  const page = await openPage(`${gateway.url.replace('127.0.0.1', 'localhost')}/cabinet`)
  expect(await onPage(page, `return ask('POST', '/auth/link', ${JSON.stringify({ token })})`)).toMatchObject({ status: 200 })
  const made = await onPage(
    page,
    `const { body } = await ask('GET', '/auth/passkey/generate-register-options')
     const response = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(body) })
     return ask('POST', '/auth/passkey/verify-registration', { response: response.toJSON(), name: 'laptop' })`,
  )
  expect(made).toMatchObject({ status: 200, body: { name: 'laptop' } })
  expect(await onPage(page, `return ask('POST', '/auth/sign-out', {})`)).toMatchObject({ status: 200 })
  expect(await onPage(page, `return ask('GET', '/api/me')`)).toMatchObject({ body: { person: null } })
  const signedIn = await onPage(
    page,
    `const { body } = await ask('GET', '/auth/passkey/generate-authenticate-options')
     const response = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(body) })
     return ask('POST', '/auth/passkey/verify-authentication', { response: response.toJSON() })`,
  )
  expect(signedIn.status).toBe(200)
  expect(JSON.stringify(signedIn.body)).not.toContain('token')
  expect(await onPage(page, `return ask('GET', '/api/me')`)).toMatchObject({ body: { person: { email: 'ann@example.com' } } })
  await page.context().close()
}, 180_000)
