/**
 * Pages hang on their listeners: each has one policy, its parts are kept for ever, nothing of it is in the way of the API, and what a client says of its own
 * address does not reach them. Rules: pages.md "Mounting", "Assets", "Errors".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { CLIENT_ADDRESS, mountPages } from '../../src/web/mount.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { partsOf } from '../support/page-parts.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const policyOf = (html: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'${[...html.matchAll(/<style>([\s\S]*?)<\/style>/g)]
    .map(([, style = '']) => ` 'sha256-${new Bun.CryptoHasher('sha256').update(style).digest('base64')}'`)
    .join('')}; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`

for (const root of ['/cabinet', '/console'] as const) {
  const site = (): string => (root === '/cabinet' ? gateway.url : gateway.operatorUrl)

  test(`${root}: the page stands under every path of its own, under a policy that obeys nothing inline`, async () => {
    for (const path of [root, `${root}/keys`, `${root}/any/thing`]) {
      const response = await fetch(`${site()}${path}`)
      expect([path, response.status, response.headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
      const html = await response.text()
      expect(response.headers.get('content-security-policy')).toBe(policyOf(html))
      expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i)
      expect(html.match(/<style/gi)?.length).toBe(1)
      const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
      expect(loaded.length).toBe(3)
      expect(html).toMatch(/<link rel="icon"/)
      // What a slow line shows while the scripts are on their way.
      expect(html.split('<body>')[1]).toMatch(/Tollgate <span class="place">[\s\S]*role="status"/)
      for (const address of loaded) {
        expect(address).toStartWith(`${root}/assets/`)
        const part = await fetch(`${site()}${address}`)
        expect([part.status, part.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
      }
    }
  })

  test(`${root}: a browser is led to it from the bare address, and whoever asks for no page gets the listener's 404`, async () => {
    const ask = (accept: string) => fetch(site(), { redirect: 'manual', headers: { accept } })
    const led = await ask('text/html,application/xhtml+xml,*/*;q=0.8')
    expect([led.status, led.headers.get('location'), led.headers.get('vary')]).toEqual([303, root, 'accept'])
    for (const accept of ['*/*', 'application/json']) {
      const response = await ask(accept)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { message: 'The requested API endpoint does not exist' } })
    }
  })

  test(`${root}: a wrong address of its API, or of a part, is an error and not the page`, async () => {
    for (const path of ['/api/nothing', '/assets/nothing.js']) {
      const response = await fetch(`${site()}${root}${path}`)
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/json;charset=utf-8'])
    }
  })

  test(`${root}: the other listener does not have it`, async () => {
    const other = root === '/cabinet' ? gateway.operatorUrl : gateway.url
    expect((await fetch(`${other}${root}`)).status).toBe(404)
  })
}

test('cabinet and console send at most 100 kB each, with every script that another imports', async () => {
  for (const page of [`${gateway.url}/cabinet`, `${gateway.operatorUrl}/console`]) {
    const parts = await partsOf(page)
    expect(parts.map(({ status }) => status)).toEqual(parts.map(() => 200))
    expect(parts.length).toBeGreaterThan(2)
    expect(parts.reduce((sum, { gzipped }) => sum + gzipped, 0)).toBeLessThan(100_000)
    for (const { address } of parts) expect((await fetch(address)).headers.get('content-encoding')).toBe('gzip')
  }
})

test('an app finds the address that the gateway trusts, and a body that is bounded', async () => {
  const seen: Request[] = []
  const pages = {
    handle: (request: Request) => {
      seen.push(request)
      return Promise.resolve(new Response('ok'))
    },
  }
  const app = new Elysia().use(mountPages(gateway.world, '/cabinet', () => Promise.resolve(pages))).listen(0)
  const url = `http://localhost:${app.server?.port}/cabinet/x`
  await fetch(url, { headers: { [CLIENT_ADDRESS]: '203.0.113.9' } })
  expect(seen[0]?.headers.get(CLIENT_ADDRESS)).toMatch(/^(?:127\.0\.0\.1|::\/64)$/)
  const send = (type: string, bytes: number) => fetch(url, { method: 'POST', headers: { 'content-type': type }, body: 'x'.repeat(bytes) })
  expect((await send('application/json', 65_537)).status).toBe(413)
  expect((await send('application/json; charset=utf-8', 65_536)).status).toBe(200)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b', 'application/jsonp', ''])
    expect([type, (await send(type, 10)).status]).toEqual([type, 415])
  expect(seen.length).toBe(2)
  await app.stop()
})

test('an address that is no UTF-8, or has a NUL, is nothing, and no bug', async () => {
  for (const path of [
    '/api/invitations/%ff',
    '/api/accounts/%ff/keys',
    '/assets/%ff',
    '/%ff',
    '/api/sessions/%c0%ae',
    '/api/accounts/%00/keys',
    '/api/me?a=%00',
  ])
    expect([path, (await fetch(`${gateway.url}/cabinet${path}`)).status]).toEqual([path, 404])
  expect(gateway.logLines().filter(({ alarm }) => alarm !== undefined)).toEqual([])
})

test('nothing of a person is cached, refusals neither', async () => {
  for (const path of ['/api/me', '/api/sessions', '/api/accounts/acc_1/alerts', '/api/accounts/acc_1/keys', '/auth/ok']) {
    const { headers } = await fetch(`${gateway.url}/cabinet${path}`)
    expect([path, headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([path, 'no-store', 'nosniff'])
  }
})

test('a bug leaves the app as it is, so that nobody makes it forget; one that did not load is loaded again', async () => {
  let loads = 0
  const failing = { handle: () => Promise.reject(new Error('a bug')) }
  const load = () => (++loads === 1 ? Promise.reject(new Error('not now')) : Promise.resolve(failing))
  const app = new Elysia().use(mountPages({ ...gateway.world, log: { ...gateway.world.log, alarm: () => undefined } }, '/cabinet', load))
  for (let request = 0; request < 4; request++) expect((await app.handle(new Request('http://localhost/cabinet/x'))).status).toBe(500)
  expect(loads).toBe(2)
})
