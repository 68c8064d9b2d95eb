/** How requests are cut out of a connection: what a smuggler tries, what old or odd clients send. Rules: platform.md "Bun's server", "Elysia". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AnsweredGateway, startAnsweredGateway } from '../support/answered-gateway.ts'
import { MODEL_ID } from '../support/gateway.ts'
import { connectRaw, rawRequest, sendRaw } from '../support/raw-client.ts'

const BODY = JSON.stringify({ model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] })
const SMUGGLED = JSON.stringify({ model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'smuggled' }] })

let upstream: AnsweredGateway['upstream']
let gateway: AnsweredGateway['gateway']
let stop: AnsweredGateway['stop']
let secret: AnsweredGateway['secret']

beforeAll(async () => {
  ;({ upstream, gateway, secret, stop } = await startAnsweredGateway())
})

afterAll(() => stop())

const post = (body: string, headers: Record<string, string> = {}): Uint8Array =>
  rawRequest('POST', '/v1/messages', { 'x-api-key': secret, ...headers }, body)

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`

test('an ambiguous length is refused, the connection is closed, and what follows reaches neither a route nor the upstream', async () => {
  const length = `Content-Length: ${BODY.length}`
  const forms: [string, string, string][] = [
    ['both', `${length}\r\nTransfer-Encoding: chunked`, chunked(BODY)],
    ['both, the other way round', `Transfer-Encoding: chunked\r\n${length}`, chunked(BODY)],
    ['two lengths', `${length}\r\nContent-Length: 5`, BODY],
    ['a list of lengths', `Content-Length: ${BODY.length}, 5`, BODY],
    ['plus', `Content-Length: +${BODY.length}`, BODY],
    ['minus', 'Content-Length: -1', BODY],
    ['hex', 'Content-Length: 0x50', BODY],
    ['overflow', 'Content-Length: 99999999999999999999999', BODY],
    ['xchunked', 'Transfer-Encoding: xchunked', chunked(BODY)],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked', chunked(BODY)],
    ['chunked twice', 'Transfer-Encoding: chunked, chunked', chunked(BODY)],
    ['chunked, identity', 'Transfer-Encoding: chunked, identity', chunked(BODY)],
    ['space before the colon', 'Transfer-Encoding : chunked', chunked(BODY)],
    ['vertical tab', 'Transfer-Encoding: \x0bchunked', chunked(BODY)],
    ['folded', 'Transfer-Encoding:\r\n chunked', chunked(BODY)],
    ['NUL', `X: a\0b\r\n${length}`, BODY],
    ['bare CR', `X: a\rb\r\n${length}`, BODY],
    ['chunk size overflow', 'Transfer-Encoding: chunked', `fffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
    ['chunk that is longer than it says', 'Transfer-Encoding: chunked', `5\r\n${BODY}\r\n0\r\n\r\n`],
    ['chunks with line feeds only', 'Transfer-Encoding: chunked', `${BODY.length.toString(16)}\n${BODY}\n0\n\n`],
    ['chunk size in no number', 'Transfer-Encoding: chunked', `zz\r\n${BODY}\r\n0\r\n\r\n`],
  ]
  for (const [name, header, body] of forms) {
    const callsBefore = upstream.requests.length
    const connection = await connectRaw(gateway.url)
    await connection.send(`POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\n${header}\r\n\r\n${body}`)
    await connection.send(post(SMUGGLED))
    const response = await connection.response()
    expect([name, response.status === 400 || response.status === 505]).toEqual([name, true])
    await connection.closed
    expect([name, Buffer.from(connection.received()).toString('latin1').split('HTTP/1.1 ').length - 1]).toEqual([name, 1])
    expect([name, upstream.requests.length]).toEqual([name, callsBefore])
  }
  expect(gateway.holds()).toEqual([])
})

test('bodies that arrive back to back, with a length and in chunks, are never mixed up', async () => {
  const connection = await connectRaw(gateway.url)
  const callsBefore = upstream.requests.length
  const chunkedHead = `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const requests: [Uint8Array | string, number][] = [
    [post(BODY), 200],
    [chunkedHead + chunked(SMUGGLED), 200],
    [post('{'), 400],
    [chunkedHead + chunked(BODY), 200],
  ]
  for (const [request, status] of requests) {
    await connection.send(request)
    expect((await connection.response()).status).toBe(status)
  }
  const sent = upstream.requests.slice(callsBefore).map(({ body }) => Buffer.from(body).toString())
  expect(sent).toEqual([BODY, SMUGGLED, BODY].map((body) => body.replace(MODEL_ID, 'vendor-sonnet-1')))
  connection.reset()
})

/** Bun closes a connection on which a second request arrives while the first is being answered. No client in use pipelines; none may be billed by it either. */
test('a request behind one that still runs closes the connection; the first is settled, the second never runs', async () => {
  const callsBefore = upstream.requests.length
  const connection = await connectRaw(gateway.url)
  await connection.send(Buffer.concat([post(BODY), post(SMUGGLED)]))
  await connection.closed
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
  const sent = upstream.requests.slice(callsBefore).map(({ body }) => Buffer.from(body).toString())
  expect(sent.some((body) => body.includes('smuggled'))).toBe(false)
})

test('short answers to pipelined requests come in order', async () => {
  const connection = await connectRaw(gateway.url)
  await connection.send(
    Buffer.concat([rawRequest('GET', '/livez', {}), rawRequest('OPTIONS', '/v1/messages', {}), rawRequest('GET', '/livez', {})]),
  )
  const statuses = [await connection.response(), await connection.response(), await connection.response()].map(({ status }) => status)
  expect(statuses).toEqual([200, 204, 200])
  connection.reset()
})

test('a connection serves on after every kind of error', async () => {
  const connection = await connectRaw(gateway.url)
  const errors: [Uint8Array, number][] = [
    [post('{'), 400],
    [post(BODY, { 'x-api-key': 'sk-wrong' }), 401],
    [post(BODY, { 'x-api-key': '' }), 401],
    [rawRequest('POST', '/v1/v1/messages', {}, BODY), 404],
    [rawRequest('GET', '/v1/messages', {}), 404],
    [rawRequest('GET', '/v1/models', {}, 'a body that nobody asked for'), 401],
    [post(BODY.replace(MODEL_ID, 'gpt-9')), 400],
    [post(' '.repeat(100_000), { 'content-encoding': 'gzip' }), 400],
  ]
  for (const [request, status] of errors) {
    await connection.send(request)
    expect((await connection.response()).status).toBe(status)
    await connection.send(post(BODY))
    expect((await connection.response()).status).toBe(200)
  }
  connection.reset()
})

test('every cut of a request gives the same answer', async () => {
  const request = Buffer.from(post(BODY))
  for (let cut = 1; cut < request.length; cut += 7) {
    const response = await sendRaw(gateway.url, [request.subarray(0, cut), request.subarray(cut)])
    expect([cut, response.status]).toEqual([cut, 200])
  }
})

test('HTTP/1.0, no Host, an absolute URL and two Hosts are answered by their path', async () => {
  const rest = `x-api-key: ${secret}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
  const heads: [string, number][] = [
    ['POST /v1/messages HTTP/1.0\r\n', 200],
    ['POST /v1/messages HTTP/1.0\r\nHost: a\r\n', 200],
    ['POST http://evil.example/v1/messages HTTP/1.1\r\nHost: a\r\n', 200],
    ['POST http://evil.example/zz/v1/messages HTTP/1.1\r\nHost: a\r\n', 404],
    ['POST /v1/messages HTTP/1.1\r\nHost: a\r\nHost: b\r\n', 200],
    ['POST /v1/messages?beta=true HTTP/1.1\r\nHost: a\r\n', 200],
    ...['a]b', '[', '[::1', ':', '%', 'a:b:c', '\xe9'].map((host): [string, number] => [
      `POST /v1/messages?beta=true HTTP/1.1\r\nHost: ${host}\r\n`,
      200,
    ]),
  ]
  for (const [head, status] of heads) {
    const response = await sendRaw(gateway.url, [Buffer.from(head + rest, 'latin1')])
    expect([head, response.status]).toEqual([head, status])
    if (head.includes('?')) expect(upstream.requests.at(-1)?.path).toBe('/v1/messages?beta=true')
  }
})

test('no Host header turns a wrong path of a model route into a right one', async () => {
  const wrong = [
    '/zz/v1/messages',
    '/v1/v1/messages',
    '/messages',
    '//v1/messages',
    '/V1/messages',
    '/v1//messages',
    '/v1/messages/',
    '/v1/%6dessages',
    '/v1/messages;x',
    '/v1/messages%20',
    '/v1/chat/completions/',
    '/chat/completions',
    '/v1/completions',
    '/v1/responses/',
  ]
  for (const host of ['a', 'a b', '', '/v1/messages', 'a/v1/messages?', 'a/v1/messages#'])
    for (const path of wrong) {
      const callsBefore = upstream.requests.length
      const response = await sendRaw(gateway.url, [
        rawRequest('POST', path, { Host: host, 'x-api-key': secret, Connection: 'close' }, BODY),
      ])
      expect([host, path, response.status, upstream.requests.length]).toEqual([host, path, 404, callsBefore])
    }
})

test('a Host that no URL may have changes nothing on the other routes', async () => {
  const expected: [string, number][] = [
    ['/v1/models', 200],
    [`/v1/models/${MODEL_ID}`, 200],
    ['/v1/dashboard/balance', 200],
    ['/livez', 200],
    ['/v1/v1/models', 404],
    ['/zz/v1/models', 404],
  ]
  for (const Host of ['a]b', '[', '[::1', ':', '%'])
    for (const [path, status] of expected) {
      const response = await sendRaw(gateway.url, [rawRequest('GET', path, { Host, Authorization: `Bearer ${secret}` })])
      expect([Host, path, response.status]).toEqual([Host, path, status])
    }
})

test('another method on a model route is 404 with our body; HEAD has none', async () => {
  for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens'])
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'TRACE', 'PROPFIND']) {
      const response = await sendRaw(gateway.url, [rawRequest(method, path, { 'x-api-key': secret, Connection: 'close' })])
      expect([method, path, response.status]).toEqual([method, path, 404])
      if (method !== 'HEAD') expect(response.json()).toMatchObject({ error: { type: 'not_found_error' } })
      expect(response.header('x-should-retry')).toBe('false')
    }
})

test('heads that are too large are refused by the server and leave it well', async () => {
  for (const headers of [{ 'x-long': 'x'.repeat(20_000) }, Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'y']))]) {
    const response = await sendRaw(gateway.url, [post(BODY, headers)])
    expect(response.status).toBe(431)
  }
  expect((await gateway.post('/v1/messages', secret, BODY)).status).toBe(200)
})

test('a client that shuts its side after the request is taken as gone, and what it asked is still settled', async () => {
  const connection = await connectRaw(gateway.url)
  await connection.send(post(BODY))
  connection.halfClose()
  await connection.closed
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
})

test('a path that is one of ours only when it is put right is none, and reaches no upstream; the same path as it is written is', async () => {
  const callsBefore = upstream.requests.length
  const ask = async (method: string, path: string): Promise<number> => {
    const connection = await connectRaw(gateway.url)
    const body = method === 'POST' ? BODY : ''
    await connection.send(`${method} ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const { status } = await connection.response()
    connection.reset()
    return status
  }
  for (const path of [
    '/v1/./models',
    '/v1/../v1/models',
    '/v1\\models',
    '/x/../v1/models',
    '/v1/models/../models',
    '/v1/%2e/models',
    '/v1/x/%2E%2E/models',
  ])
    expect([path, await ask('GET', path)]).toEqual([path, 404])
  for (const path of ['/v1/./messages', '/v1/../v1/messages', '/v1\\messages']) expect([path, await ask('POST', path)]).toEqual([path, 404])
  expect(upstream.requests.length).toBe(callsBefore)
  for (const path of ['/v1/models', '/v1/models?limit=5', `/v1/models/${MODEL_ID}`])
    expect([path, await ask('GET', path)]).toEqual([path, 200])
})
