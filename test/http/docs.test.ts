/**
 * The guide over HTTP: pages, their Markdown, llms.txt; who may cache what; a policy under which no script runs and nothing comes from elsewhere; what is no
 * page. A page never repeats what a request says. Rules: requests.md "Documents".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gunzipSync } from 'bun'
import { makeCatalog } from '../../src/config/make-catalog.ts'
import { guidePagesOf } from '../docs/sample-gateway.ts'
import { exchangeRaw } from '../support/app.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { threadMsUntil } from '../support/thread-cpu.ts'

const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ publicUrl: 'https://llm.example' })
})
afterAll(() => gateway.stop())

/** Without the client's own decompression. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method, redirect: 'manual', headers: { 'accept-encoding': 'identity', ...headers } })
const type = (response: Response): string | null => response.headers.get('content-type')

test('every page is HTML under a policy that obeys no script and no inline style, and has its ids', async () => {
  for (const { path, title } of guidePagesOf(gateway.world)) {
    const response = await get(path)
    expect([path, response.status, type(response)]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(response.headers.get('content-security-policy')).toBe(POLICY)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('x-request-id')).toStartWith('req_')
    const html = await response.text()
    expect(html).toContain(`<title>${title} – Tollgate</title>`)
    expect(html).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:/i)
    const loaded = [...html.matchAll(/<(?:link|img|iframe|source|object)\b[^>]*(?:href|src|data)="([^"]*)"/g)].map(([, address]) => address)
    expect(loaded.length).toBe(2)
    for (const address of loaded) {
      const part = await get(address ?? '')
      expect([address?.startsWith('/docs/'), part.status]).toEqual([true, 200])
    }
  }
})

test('each page is there as Markdown, exactly its source with the values of this installation; llms.txt lists them', async () => {
  const index = await get('/llms.txt')
  expect([index.status, type(index)]).toEqual([200, 'text/plain; charset=utf-8'])
  const list = await index.text()
  for (const { markdownPath, markdown } of guidePagesOf(gateway.world)) {
    const response = await get(markdownPath)
    expect([response.status, type(response), await response.text()]).toEqual([200, 'text/plain; charset=utf-8', markdown])
    expect(list).toContain(`https://llm.example${markdownPath}`)
  }
})

test('a page says the address that the operator gave, never one that a request names', async () => {
  const port = Number(new URL(gateway.url).port)
  for (const path of ['/docs', '/docs/clients', '/docs/quick-start.md', '/llms.txt', '/docs/nothing']) {
    for (const host of ['evil.example', 'a]b', '"><script>', 'llm.example@evil.example']) {
      const answer = await exchangeRaw(
        port,
        `GET ${path} HTTP/1.1\nHost: ${host}\nX-Forwarded-Host: evil.example\nForwarded: host=evil.example\nConnection: close\n\n`,
      )
      expect(answer).not.toContain('evil')
      expect(answer).not.toContain('<script')
      if (answer.startsWith('HTTP/1.1 200')) expect(answer).toContain(path.endsWith('s') ? 'https://llm.example' : 'llm.example')
    }
  }
})

test('without an address of the operator it is the one that the gateway listens on; a reload brings another, which the balance error names, too', async () => {
  await using other = await startTestGateway()
  const text = async (path: string): Promise<string> => (await fetch(`${other.url}${path}`)).text()
  expect(await text('/docs')).toContain(`curl ${other.url}/v1/chat/completions`)
  const server = { host: '127.0.0.1', port: 0, dashboardUrl: undefined, trustedProxies: [], drainDelayMs: 0, corsOrigins: [] }
  other.reload({ server: { ...server, publicUrl: 'https://new.example' } })
  expect(await text('/docs')).toContain('curl https://new.example/v1/chat/completions')
  expect(await text('/llms.txt')).toContain('(https://new.example/docs/errors.md)')
  expect(await text('/docs/errors.md')).toContain('Top up: https://new.example/cabinet`')
  other.reload({ server: { ...server, dashboardUrl: 'https://new.example', publicUrl: 'https://third.example' } })
  expect(await text('/docs')).toContain('curl https://third.example/v1/chat/completions')
})

test('a page is asked about each time and sent once; the stylesheet is kept under an address that changes with it', async () => {
  const first = await get('/docs/errors')
  const etag = first.headers.get('etag') ?? ''
  expect([first.headers.get('cache-control'), etag.startsWith('W/"')]).toEqual(['public, no-cache', true])
  for (const tags of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
    const again = await get('/docs/errors', { 'if-none-match': tags })
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, ''])
  }
  expect((await get('/docs/errors', { 'if-none-match': '"other"' })).status).toBe(200)
  expect((await get('/docs/limits', { 'if-none-match': etag })).status).toBe(200)
  expect((await get('/docs/nothing', { 'if-none-match': '*' })).status).toBe(404)

  const address = /<link rel="stylesheet" href="([^"]+)"/.exec(await first.text())?.[1] ?? ''
  const css = await get(address)
  expect([css.status, type(css), css.headers.get('cache-control')]).toEqual([
    200,
    'text/css; charset=utf-8',
    'public, max-age=31536000, immutable',
  ])
  expect(await css.text()).not.toMatch(/url\(|@import|https?:/)
  for (const other of ['/docs/style.css', '/docs/style.css?v=of-another-version'])
    expect((await get(other)).headers.get('cache-control')).toBe('public, no-cache')
})

test('gzip for those who take it, the same text for those who do not', async () => {
  const plain = await (await get('/docs/billing')).text()
  for (const [accept, isGzipped] of [
    ['gzip', true],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', true],
    ['gzip, deflate, br, zstd', true],
    ['br', false],
    ['gzip;q=0', false],
    ['gzip;q=0.000, br', false],
    ['identity', false],
  ] as const) {
    const response = await fetch(`${gateway.url}/docs/billing`, { headers: { 'accept-encoding': accept }, decompress: false })
    expect([accept, response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
      accept,
      isGzipped ? 'gzip' : null,
      'accept-encoding',
    ])
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect(new TextDecoder().decode(isGzipped ? gunzipSync(bytes) : bytes)).toBe(plain)
    if (isGzipped) expect(bytes.length).toBeLessThan(plain.length / 2)
  }
})

test('HEAD is the head of GET, also where there is no page', async () => {
  for (const path of ['/docs', '/docs/errors', '/docs/errors.md', '/llms.txt', '/docs/style.css', '/docs/nothing']) {
    const [head, full] = [await get(path, {}, 'HEAD'), await get(path)]
    const of = ({ status, headers }: Response) => [status, headers.get('content-type'), headers.get('etag'), headers.get('content-length')]
    expect(of(head)).toEqual(of(full))
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0)
    expect(await head.text()).toBe('')
  }
})

test('what is no page is a page that says so; a slash too many leads to the page; other methods and paths are the contract’s 404', async () => {
  for (const path of [
    '/docs/nothing',
    '/docs/nothing/',
    '/docs/errors//',
    '/docs//errors',
    '/docs/..%2ferrors.md',
    '/docs/%',
    '/docs/errors.md.md',
    '/docs/__proto__',
  ]) {
    const response = await get(path)
    expect([path, response.status, type(response)]).toEqual([path, 404, 'text/html; charset=utf-8'])
    expect(await response.text()).toContain('<h1>Page not found</h1>')
  }
  for (const [path, location] of [
    ['/docs/', '/docs'],
    ['/docs/errors/', '/docs/errors'],
    ['/docs/quick-start', '/docs'],
  ] as const) {
    const response = await get(path)
    expect([path, response.status, response.headers.get('location')]).toEqual([path, 308, location])
  }
  for (const [path, method] of [
    ['/', 'GET'],
    ['/docsx', 'GET'],
    ['/Docs', 'GET'],
    ['/v1/docs', 'GET'],
    ['/v1/nothing', 'GET'],
    ['/llms.txt/', 'GET'],
    ['/docs', 'POST'],
    ['/docs/errors', 'DELETE'],
  ] as const) {
    const response = await get(path, {}, method)
    expect([path, response.status, type(response)]).toEqual([path, 404, 'application/json'])
  }
})

test('a document is made once for a catalogue, whoever asks for what, and a reload shows at once', async () => {
  const gzip = Bun.gzipSync
  let made = 0
  Bun.gzipSync = ((...args: Parameters<typeof gzip>) => {
    made++
    return gzip(...args)
  }) as typeof gzip
  try {
    await using other = await startTestGateway()
    const fetchAll = () =>
      Promise.all(
        ['/docs/models', '/docs/models?x=1', '/docs/models', '/docs/a', '/docs/b', '/docs/c'].map((path) => fetch(`${other.url}${path}`)),
      )
    await fetchAll()
    await fetchAll()
    expect(made).toBe(2)
    const before = await (await fetch(`${other.url}/docs/models`)).text()
    const catalog = makeCatalog(
      { models: [{ id: 'newer', input: '7', output: '9', context_window: 5, max_output_tokens: 5 }] } as Parameters<typeof makeCatalog>[0],
      [],
    )
    other.reload({ catalog })
    const after = await (await fetch(`${other.url}/docs/models`)).text()
    expect([before.includes('newer'), after.includes('<code>newer</code>'), after.includes('$7.00')]).toEqual([false, true, true])
    expect(made).toBe(3)
  } finally {
    Bun.gzipSync = gzip
  }
})

test('a path holds the loop no longer for the letters it has: slashes cost what other letters do', async () => {
  const bestMs = async (path: string): Promise<number> => {
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < 5; round++) {
      best = Math.min(best, await threadMsUntil(async () => expect((await get(path)).status).toBe(404)))
    }
    return best
  }
  const LETTERS = 12_000
  expect(await bestMs(`/docs/${'/'.repeat(LETTERS)}x`)).toBeLessThan(10 * (await bestMs(`/docs/${'a'.repeat(LETTERS)}x`)) + 10)
})
