/** A chat front-end in a browser: what the browser asks first, and what it then lets the page read. Rules: requests.md "Browsers". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'

const ORIGIN = 'https://chat.example'
/** Names that a page may set without asking, apart from a JSON content-type. */
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language'])
const READABLE_ALWAYS = new Set([
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
  'last-modified',
  'pragma',
])

let open: TestGateway
let narrow: TestGateway
let secret: string
let narrowSecret: string

beforeAll(async () => {
  open = await startTestGateway({ limits: { requestsPerMinute: 1_000 } })
  narrow = await startTestGateway({ corsOrigins: [ORIGIN] })
  secret = await open.createKey()
  narrowSecret = await narrow.createKey()
})

afterAll(async () => {
  await Promise.all([open.stop(), narrow.stop()])
})

type Page = Readonly<{ status: number; text: string; header(name: string): string | null }>

/** What a page at `origin` gets from its `fetch`, by the browser's rules: undefined is the browser's "network error". */
async function browse(url: string, init: RequestInit & { headers: Record<string, string> }, origin = ORIGIN): Promise<Page | undefined> {
  const method = init.method ?? 'GET'
  const unsafe = Object.keys(init.headers).filter((name) => !SAFELISTED.has(name))
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': unsafe.sort().join(',') },
  })
  const list = (response: Response, name: string): string[] =>
    (response.headers.get(name) ?? '')
      .toLowerCase()
      .split(',')
      .map((part) => part.trim())
  const allows = (response: Response): boolean => ['*', origin].includes(response.headers.get('access-control-allow-origin') ?? '')
  if (!preflight.ok || !allows(preflight)) return undefined
  if (!['GET', 'POST', 'HEAD'].includes(method) && !list(preflight, 'access-control-allow-methods').includes(method.toLowerCase()))
    return undefined
  // `*` would not cover authorization, so it is not looked for.
  if (unsafe.some((name) => !list(preflight, 'access-control-allow-headers').includes(name))) return undefined
  const response = await fetch(url, { ...init, headers: { ...init.headers, origin } })
  if (!allows(response)) return undefined
  const exposed = new Set([...READABLE_ALWAYS, ...list(response, 'access-control-expose-headers')])
  return { status: response.status, text: await response.text(), header: (name) => (exposed.has(name) ? response.headers.get(name) : null) }
}

const messages = (fields: Record<string, unknown> = {}) =>
  JSON.stringify({ model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }], ...fields })

const jsonHeaders = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

test('a page can ask every route, plain and as a stream, with the headers of either SDK', async () => {
  const anthropic = {
    'x-api-key': secret,
    'anthropic-version': '2023-06-01',
    'anthropic-dangerous-direct-browser-access': 'true',
    'content-type': 'application/json',
    'x-stainless-retry-count': '0',
  }
  const openai = { ...jsonHeaders(secret), 'x-stainless-os': 'Unknown', 'openai-organization': 'x' }
  const asks: [string, RequestInit & { headers: Record<string, string> }][] = [
    ['/v1/messages', { method: 'POST', headers: anthropic, body: messages() }],
    ['/v1/messages', { method: 'POST', headers: anthropic, body: messages({ stream: true }) }],
    ['/v1/chat/completions', { method: 'POST', headers: openai, body: messages() }],
    ['/v1/chat/completions', { method: 'POST', headers: openai, body: messages({ stream: true }) }],
    ['/v1/responses', { method: 'POST', headers: openai, body: JSON.stringify({ model: MODEL_ID, input: 'Hi' }) }],
    ['/v1/responses', { method: 'POST', headers: openai, body: JSON.stringify({ model: MODEL_ID, input: 'Hi', stream: true }) }],
    ['/v1/messages/count_tokens', { method: 'POST', headers: anthropic, body: messages({ max_tokens: undefined }) }],
    ['/v1/models', { headers: openai }],
    [`/v1/models/${MODEL_ID}`, { headers: openai }],
    ['/v1/dashboard/balance', { headers: { authorization: `Bearer ${secret}` } }],
    ['/v1/dashboard/billing/subscription', { headers: { authorization: `Bearer ${secret}` } }],
    ['/v1/dashboard/billing/usage', { headers: { authorization: `Bearer ${secret}` } }],
    ['/v1/dashboard/billing/credit_grants', { headers: { authorization: `Bearer ${secret}` } }],
  ]
  for (const [path, init] of asks) {
    const page = await browse(`${open.url}${path}`, init)
    expect([path, page?.status]).toEqual([path, 200])
    expect(page?.header('x-request-id')).toMatch(/^req_/)
  }
  for (const origin of ['http://localhost:3000', 'null', 'app://obsidian.md'])
    expect([origin, (await browse(`${open.url}/v1/models`, { headers: openai }, origin))?.status]).toEqual([origin, 200])
})

test('a page can read every refusal and its retry signals', async () => {
  const refused: [string, RequestInit & { headers: Record<string, string> }, number][] = [
    ['/v1/messages', { method: 'POST', headers: jsonHeaders(secret), body: '{' }, 400],
    ['/v1/messages', { method: 'POST', headers: jsonHeaders('sk-wrong'), body: messages() }, 401],
    ['/v1/models', { headers: {} }, 401],
    ['/v1/v1/models', { headers: jsonHeaders(secret) }, 404],
    ['/v1/messages', { method: 'POST', headers: jsonHeaders(secret), body: Buffer.alloc(LIMITS.bodyBytes + 1) as unknown as string }, 413],
  ]
  for (const [path, init, status] of refused) {
    const page = await browse(`${open.url}${path}`, init)
    expect([path, page?.status, page?.header('x-should-retry')]).toEqual([path, status, 'false'])
    expect(JSON.parse(page?.text ?? '')).toMatchObject({ type: 'error' })
  }
})

test('nothing is allowed with cookies, and the preflight needs no key and costs nothing', async () => {
  const response = await fetch(`${open.url}/v1/messages`, {
    method: 'OPTIONS',
    headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
  })
  expect(response.status).toBe(204)
  expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  expect(Number(response.headers.get('access-control-max-age'))).toBeGreaterThan(0)
})

test('narrowed to an origin, other pages get nothing', async () => {
  const init = { method: 'POST', headers: jsonHeaders(narrowSecret), body: messages() }
  expect((await browse(`${narrow.url}/v1/messages`, init))?.status).toBe(200)
  for (const origin of [
    'https://evil.example',
    'https://chat.example.evil.example',
    'http://chat.example',
    'https://chat.example:444',
    'null',
  ])
    expect([origin, await browse(`${narrow.url}/v1/messages`, init, origin)]).toEqual([origin, undefined])
})

test('outside /v1 there is no CORS: OPTIONS is the 404 of any other method', async () => {
  for (const path of ['/livez', '/readyz', '/', '/messages', '/metrics']) {
    const response = await fetch(`${open.url}${path}`, {
      method: 'OPTIONS',
      headers: { origin: ORIGIN, 'access-control-request-method': 'GET' },
    })
    expect([path, response.status]).toEqual([path, 404])
  }
})
