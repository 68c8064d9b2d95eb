/** The routes that spend nothing, behind a real socket: odd paths, hosts, headers and proxies. Rules: platform.md "Elysia"; contract.md "Errors". */

import { afterAll, expect, test } from 'bun:test'
import { bearer, errorOf, exchangeRaw, smallApp } from '../support/app.ts'
import { makeTestWorld } from '../support/world.ts'

const { world, addKey } = makeTestWorld({ trustedProxies: ['127.0.0.0/8'], limits: { dashboardPerMinute: 3 } })
const secret = addKey()
const app = smallApp(world).listen({ port: 0, hostname: '127.0.0.1' })
const port = app.server?.port ?? 0
const url = `http://127.0.0.1:${port}`

afterAll(async () => {
  await app.stop(true)
})

const statusOf = (answer: string): number => Number(answer.split(' ')[1])

test('HEAD on a GET route is 404 without a body', async () => {
  for (const path of ['/v1/models', '/v1/models/sonnet', '/v1/dashboard/balance', '/api/hello']) {
    const answer = await exchangeRaw(port, `HEAD ${path} HTTP/1.1\nHost: a\nAuthorization: Bearer ${secret}\nConnection: close\n\n`)
    expect(statusOf(answer)).toBe(404)
    expect(answer.split('\r\n\r\n')[1]).toBe('')
  }
})

test('the path decides, never the Host header, nor its absence', async () => {
  const get = async (path: string, host: string): Promise<number> =>
    statusOf(await exchangeRaw(port, `GET ${path} HTTP/1.1\nHost: ${host}\nAuthorization: Bearer ${secret}\nConnection: close\n\n`))
  const unknown = [
    '/zz/v1/models',
    '/zzzzzz/v1/models',
    '/v1/v1/models',
    '//v1/models',
    '/models',
    '/v1//models',
    '/V1/models',
    '/v1/%6dodels',
    '/zz/livez',
  ]
  for (const host of [
    'a',
    'ab',
    'abc',
    'x.y',
    'a b',
    '',
    'gateway.example',
    `127.0.0.1:${port}`,
    '/v1/models',
    'a/v1/models?',
    'a/v1/models#',
  ]) {
    for (const path of unknown) expect([path, host, await get(path, host)]).toEqual([path, host, 404])
    expect([host, await get('/v1/models', host)]).toEqual([host, 200])
  }
  const withoutHost = async (path: string): Promise<number> =>
    statusOf(await exchangeRaw(port, `GET ${path} HTTP/1.0\nAuthorization: Bearer ${secret}\n\n`))
  for (const path of unknown) expect([path, await withoutHost(path)]).toEqual([path, 404])
  for (const path of ['/v1/models', '/v1/models/sonnet', '/readyz', '/v1/dashboard/balance'])
    expect([path, await withoutHost(path)]).toEqual([path, 200])
})

test('a model’s id is decoded once behind a socket, too', async () => {
  const idOf = async (written: string): Promise<unknown> =>
    ((await (await fetch(`${url}/v1/models/${written}`, { headers: bearer(secret) })).json()) as { id?: string }).id
  for (const written of ['vendor/model:v1@2.5', 'vendor%2Fmodel%3Av1%402.5']) expect(await idOf(written)).toBe('vendor/model:v1@2.5')
  expect(await idOf('vendor%252Fmodel:v1@2.5')).toBeUndefined()
})

test('odd request lines are never a 500', async () => {
  const heads = [
    'GET /v1/models HTTP/1.0',
    'GET http://evil.example/v1/models HTTP/1.1\nHost: a',
    'GET /v1/models HTTP/1.1\nHost: a\nHost: b',
    'OPTIONS * HTTP/1.1\nHost: a',
    'GET /v1/models/%ff HTTP/1.1\nHost: a',
  ]
  for (const head of heads) {
    const status = statusOf(await exchangeRaw(port, `${head}\nAuthorization: Bearer ${secret}\nConnection: close\n\n`))
    expect([head, status > 0 && status < 500]).toEqual([head, true])
  }
})

test('a header that is sent twice is an invalid key', async () => {
  for (const name of ['Authorization: Bearer', 'x-api-key:']) {
    const line = `${name} ${secret}`
    const answer = await exchangeRaw(port, `GET /v1/models HTTP/1.1\nHost: a\n${line}\n${line}\nConnection: close\n\n`)
    expect(statusOf(answer)).toBe(401)
    expect(answer).toContain('Invalid API key')
  }
})

test('a 404 and a refusal arrive whole and as JSON', async () => {
  expect(await errorOf(await fetch(`${url}/v1/nope`))).toMatchObject({ status: 404 })
  expect(await errorOf(await fetch(`${url}/v1/nope`, { method: 'POST', body: '{' }))).toMatchObject({ status: 404 })
  expect(await errorOf(await fetch(`${url}/v1/models`))).toMatchObject({ status: 401 })
})

test('the dashboard is limited by the address behind a trusted proxy, one client apart from another', async () => {
  const read = async (client: string): Promise<number> =>
    (await fetch(`${url}/v1/dashboard/balance`, { headers: { ...bearer(secret), 'x-forwarded-for': `6.6.6.6, ${client}` } })).status
  for (const expected of [200, 200, 200, 429]) expect(await read('198.51.100.1')).toBe(expected)
  expect(await read('198.51.100.2')).toBe(200)
})
