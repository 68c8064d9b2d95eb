/**
 * Bodies that are refused before anything is held or called, and odd ones that are not.
 * Rules: requests.md "Bodies", "Encodings", "JSON bounds"; messages.md "Refused fields".
 */

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type AnsweredGateway, startAnsweredGateway } from '../support/answered-gateway.ts'
import { MODEL_ID, UPSTREAM_API_KEY } from '../support/gateway.ts'
import { startWatch } from '../support/until.ts'

const PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens']
const NATIVE = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
const CHAT = { model: MODEL_ID, messages: [{ role: 'user', content: 'Hi' }] }
const RESPONSES = { model: MODEL_ID, input: 'Hi' }
/** A bomb or a flood may cost a moment, not a minute, whatever else the machine does. */
const PROMPT_MS = 8_000

let upstream: AnsweredGateway['upstream']
let gateway: AnsweredGateway['gateway']
let stop: AnsweredGateway['stop']
let secret: AnsweredGateway['secret']
let callsBefore = 0

beforeAll(async () => {
  ;({ upstream, gateway, secret, stop } = await startAnsweredGateway())
})

beforeEach(() => {
  callsBefore = upstream.requests.length
})

afterAll(() => stop())

type Answer = { status: number; message: string }

async function send(path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await gateway.post(path, secret, body, { headers: { 'x-api-key': secret, ...headers } })
  const json = (await response.json()) as { type?: string; error?: { type: string; message: string } }
  if (response.status !== 200) expect(json).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  return { status: response.status, message: json.error?.message ?? '' }
}

const messages = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  send('/v1/messages', typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body), headers)

/** Refused without an upstream call and without a hold. */
function expectUntouched(): void {
  expect(upstream.requests.length).toBe(callsBefore)
  expect(gateway.holds()).toEqual([])
  expect(gateway.bodies.bytes).toBe(0)
}

const lastBody = (): string => Buffer.from(upstream.requests.at(-1)?.body ?? []).toString('utf8')

test('what is no JSON object is 400 on every route that reads a body', async () => {
  const broken = [
    '',
    ' ',
    '{',
    '{a:1}',
    '{"a":1',
    '{"a":1}}',
    "{'a':1}",
    '{"a":1,}',
    '{"a":NaN}',
    '{"a":01}',
    'undefined',
    '<xml/>',
    'a=b',
    '{"a":"\n"}',
  ]
  const notObjects = ['null', '[]', '[{}]', '"x"', '1', 'true']
  for (const path of PATHS) {
    for (const body of broken) {
      const { status, message } = await send(path, body)
      expect([path, body, status, message.startsWith('Invalid JSON: ')]).toEqual([path, body, 400, true])
    }
    for (const body of notObjects)
      expect([path, body, await send(path, body)]).toEqual([path, body, { status: 400, message: 'Request body must be a JSON object' }])
  }
  expectUntouched()
})

test('bytes that are no UTF-8 are 400; a byte order mark is dropped', async () => {
  const text = JSON.stringify(NATIVE)
  const bad = [
    Buffer.from(text.replace('Hi', '\xff\xfe'), 'latin1'),
    Buffer.from(text.replace('Hi', '\xc3'), 'latin1'),
    Buffer.from(text.replace('Hi', '\xed\xa0\x80'), 'latin1'),
    Buffer.from(text, 'utf16le'),
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]),
  ]
  for (const body of bad) expect(await messages(body)).toMatchObject({ status: 400 })
  expectUntouched()
  expect(await messages(Buffer.from(`\uFEFF${text}`))).toMatchObject({ status: 200 })
  expect(lastBody()).toStartWith('{')
})

test('a lone surrogate’s escape reaches the upstream as it was written', async () => {
  const escaped = JSON.stringify(NATIVE).replace('"Hi"', String.raw`"a\ud800b\u0000\uDFFF"`)
  expect(await messages(escaped)).toMatchObject({ status: 200 })
  expect(lastBody()).toContain(String.raw`"a\ud800b\u0000\uDFFF"`)
  for (const [path, body] of [
    ['/v1/chat/completions', CHAT],
    ['/v1/responses', RESPONSES],
  ] as const)
    expect(await send(path, JSON.stringify(body).replace('"Hi"', String.raw`"a\ud800b"`))).toMatchObject({ status: 200 })
})

test('nesting and separators bombs are 400 at once, and others are served meanwhile', async () => {
  const deep = (open: string, close: string) => `{"a":${open.repeat(50_000)}${close.repeat(50_000)}}`
  const bombs: [string, string | Buffer, string][] = [
    ['arrays', deep('[', ']'), 'Invalid JSON: nesting deeper than 128 levels'],
    ['objects', deep('{"a":', '}').replace(':}', ':1}'), 'Invalid JSON: nesting deeper than 128 levels'],
    ['brackets', Buffer.alloc(33_554_432, '['), 'Invalid JSON: nesting deeper than 128 levels'],
    ['commas', `{"a":[${'1,'.repeat(1_500_000)}1]}`, 'Invalid JSON: more than 1000000 commas, colons, arrays and objects'],
    [
      'keys',
      `{${Array.from({ length: 700_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
      'Invalid JSON: more than 1000000 commas, colons, arrays and objects',
    ],
  ]
  for (const [name, body, expected] of bombs) {
    using watch = startWatch()
    const [{ status, message }, alive] = await Promise.all([messages(body), fetch(`${gateway.url}/livez`)])
    expect([name, status, message, alive.status]).toEqual([name, 400, expected, 200])
    expect(watch.ms()).toBeLessThan(PROMPT_MS)
  }
  expectUntouched()
})

test('brackets and commas inside strings are no structure', async () => {
  const text = `[{,:${'[{,:"\\'.repeat(300_000)}`
  expect(await messages({ ...NATIVE, messages: [{ role: 'user', content: text }] })).toMatchObject({ status: 200 })
  expect(upstream.requests.at(-1)?.json()).toMatchObject({ messages: [{ role: 'user', content: text }] })
})

test('gzip, deflate, br and zstd bodies are decoded and reach the upstream as plain bytes', async () => {
  const plain = Buffer.from(JSON.stringify({ ...NATIVE, system: 'x'.repeat(200_000) }))
  const encodings: [string, Buffer][] = [
    ['gzip', gzipSync(plain)],
    ['GZIP', gzipSync(plain)],
    ['x-gzip', gzipSync(plain)],
    ['deflate', deflateSync(plain)],
    ['br', brotliCompressSync(plain)],
    ['zstd', zstdCompressSync(plain)],
    ['identity', plain],
  ]
  for (const [encoding, body] of encodings) {
    expect([encoding, await messages(body, { 'content-encoding': encoding })]).toEqual([encoding, { status: 200, message: '' }])
    const request = upstream.requests.at(-1)
    expect(request?.json()).toMatchObject({ system: 'x'.repeat(200_000) })
    expect(request?.header('content-encoding')).toBeUndefined()
  }
})

test('bombs of every encoding are 413, before they are inflated past the limit', async () => {
  const plain = Buffer.alloc(256 * 1024 * 1024, 0x20)
  const bombs: [string, Buffer][] = [
    ['gzip', gzipSync(plain, { level: 1 })],
    ['deflate', deflateSync(plain, { level: 1 })],
    ['br', brotliCompressSync(plain, { params: { 1: 1 } })],
    ['zstd', zstdCompressSync(plain)],
  ]
  for (const [encoding, body] of bombs) {
    using watch = startWatch()
    expect([encoding, await messages(body, { 'content-encoding': encoding })]).toEqual([
      encoding,
      { status: 413, message: 'request body exceeds size limit' },
    ])
    expect(watch.ms()).toBeLessThan(PROMPT_MS)
  }
  expectUntouched()
}, 180_000)

test('what is sent is bounded, too: bytes behind a compressed body of which nothing comes out are 413, without a content-length', async () => {
  const plain = JSON.stringify(NATIVE)
  const fill = (piece: Uint8Array): Buffer => Buffer.alloc(1024 * 1024, piece)
  const skipped = Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0xf8, 0xff, 0x0f, 0x00]), Buffer.alloc(1024 * 1024 - 8)])
  const bodies: [encoding: string, body: Buffer, behind: Buffer][] = [
    ['gzip', gzipSync(plain), Buffer.concat(Array<Buffer>(50_000).fill(gzipSync('')))],
    ['gzip', gzipSync(plain), fill(Buffer.from([0]))],
    ['deflate', deflateSync(plain), fill(Buffer.from('x'))],
    ['br', brotliCompressSync(plain), fill(Buffer.from('x'))],
    ['zstd', zstdCompressSync(plain), skipped],
  ]
  for (const [encoding, body, behind] of bodies) {
    let left = 40
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(body),
      pull: (controller) => (left-- > 0 ? controller.enqueue(behind) : controller.close()),
    })
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': secret, 'content-encoding': encoding },
      body: stream,
    })
    expect([encoding, response.status, await response.json()]).toMatchObject([
      encoding,
      413,
      { error: { message: 'request body exceeds size limit' } },
    ])
  }
  expectUntouched()
}, 180_000)

test('an encoding that is unknown, doubled or broken is 400 naming the header', async () => {
  const body = JSON.stringify(NATIVE)
  for (const encoding of ['compress', 'gzip, br', 'gzip,gzip', 'utf-8', '__proto__', 'constructor'])
    expect([encoding, await messages(body, { 'content-encoding': encoding })]).toEqual([
      encoding,
      { status: 400, message: 'content-encoding: Input should be one of gzip, deflate, br, zstd' },
    ])
  for (const encoding of ['gzip', 'deflate', 'br', 'zstd'])
    for (const broken of [Buffer.from(body), gzipSync(body).subarray(0, 20)])
      expect((await messages(broken, { 'content-encoding': encoding })).status).toBe(400)
  expectUntouched()
})

test('any content-type is read as JSON', async () => {
  for (const type of [
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/octet-stream',
    'application/json; charset=latin1',
    'nonsense',
  ]) {
    expect([type, (await messages(NATIVE, { 'content-type': type })).status]).toEqual([type, 200])
    expect([type, await messages('{"model"', { 'content-type': type })]).toMatchObject([type, { status: 400 }])
  }
})

test('`__proto__` and `constructor` are names like any other, and reach the upstream in schemas', async () => {
  const schema =
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"object","properties":{"prototype":{"type":"string"}}}}}'
  const body = `{"__proto__":{"polluted":true},"model":"${MODEL_ID}","max_tokens":8,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":${schema}}]}`
  expect(await messages(body)).toMatchObject({ status: 200 })
  expect(lastBody()).toContain(schema)
  const chat = `{"model":"${MODEL_ID}","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],"__proto__":{"stream":true}}`
  expect(await send('/v1/chat/completions', chat)).toMatchObject({ status: 200 })
  expect(lastBody()).toContain('"__proto__":{"type":"string"}')
  expect(Object.hasOwn({}.constructor.prototype, 'polluted')).toBe(false)
  expect(await messages('{"__proto__":{"model":"sonnet","max_tokens":8,"messages":[{"role":"user","content":"Hi"}]}}')).toEqual({
    status: 400,
    message: 'model: Field required',
  })
})

test('odd `max_tokens` are 400 naming the field; 0 is the vendor’s cache warm-up on messages only', async () => {
  const withMaxTokens = (fields: object, name: string, literal: string) =>
    JSON.stringify({ ...fields, [name]: '@' }).replace('"@"', literal)
  const odd = ['-1', '1.5', '"5"', '1e400', '-1e400', 'true', '[]', '{}', '9007199254740993']
  for (const literal of odd) {
    const answer = await messages(withMaxTokens(NATIVE, 'max_tokens', literal))
    expect([literal, answer.status, answer.message.startsWith('max_tokens: ')]).toEqual([literal, 400, true])
  }
  expectUntouched()
  for (const literal of ['0', '1', '64000', '1.0', '1e1'])
    expect([literal, (await messages(withMaxTokens(NATIVE, 'max_tokens', literal))).status]).toEqual([literal, 200])
  for (const literal of [...odd, '0']) {
    const chat = await send('/v1/chat/completions', withMaxTokens(CHAT, 'max_tokens', literal))
    expect(['chat', literal, chat.status, chat.message.startsWith('max_tokens: ')]).toEqual(['chat', literal, 400, true])
    const responses = await send('/v1/responses', withMaxTokens(RESPONSES, 'max_output_tokens', literal))
    expect(['responses', literal, responses.status, responses.message.startsWith('max_output_tokens: ')]).toEqual([
      'responses',
      literal,
      400,
      true,
    ])
  }
})

test('numbers keep their spelling on messages: `1.0` reaches the upstream as `1.0`', async () => {
  const body = `{"model":"${MODEL_ID}","max_tokens": 8.0 ,"temperature":1.0,"x":12345678901234567890,"messages":[{"role":"user","content":"\\u00e9"}]}`
  expect(await messages(body)).toMatchObject({ status: 200 })
  expect(lastBody()).toBe(body.replace(MODEL_ID, 'vendor-sonnet-1'))
})

test('messages refuses what is missing or of the wrong type, naming the field', async () => {
  const wrong: [Record<string, unknown>, string][] = [
    [{ model: undefined }, 'model: '],
    [{ model: 5 }, 'model: '],
    [{ model: '' }, 'model: '],
    [{ model: null }, 'model: '],
    [{ messages: undefined }, 'messages: '],
    [{ messages: [] }, 'messages: '],
    [{ messages: 'Hi' }, 'messages: '],
    [{ max_tokens: undefined }, 'max_tokens: Field required'],
    [{ max_tokens: '10' }, 'max_tokens: '],
    [{ temperature: 1.1 }, 'temperature: '],
    [{ top_p: -0.1 }, 'top_p: '],
    [{ top_k: 'x' }, 'top_k: '],
    [{ stop_sequences: 'x' }, 'stop_sequences: '],
    [{ system: 5 }, 'system: '],
    [{ stream: 1 }, 'stream: '],
    [{ tools: {} }, 'tools: '],
    [{ tool_choice: 5 }, 'tool_choice: '],
  ]
  for (const [more, expected] of wrong) {
    const { status, message } = await messages({ ...NATIVE, ...more })
    expect([more, status, message.slice(0, expected.length)]).toEqual([more, 400, expected])
  }
  expectUntouched()
})

test('a model’s name is echoed, cut at 200 characters, and never reaches a header or the log raw', async () => {
  const long = 'm'.repeat(1_000_000)
  for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses']) {
    const base = path === '/v1/messages' ? NATIVE : path === '/v1/responses' ? RESPONSES : CHAT
    const named = async (model: string): Promise<Answer> => send(path, JSON.stringify({ ...base, model }))
    expect(await named(long)).toEqual({ status: 400, message: `Model ${'m'.repeat(200)} is not available on this API key` })
    for (const model of ['a\r\nx-evil: 1', '\u001b[31m', '__proto__', 'constructor', 'toString', '"', '<script>'])
      expect(await named(model)).toEqual({ status: 400, message: `Model ${model} is not available on this API key` })
  }
  expectUntouched()
})

test('a version header that is no date is 400; betas and versions cannot inject a header', async () => {
  for (const version of ['banana', '2023-06-01x', '2023-06-01, 2024-01-01', 'é', '20230601', '2023-6-1'])
    for (const name of ['anthropic-version', 'vendor-version']) {
      const { status, message } = await messages(NATIVE, { [name]: version })
      expect([name, version, status, message.includes('version')]).toEqual([name, version, 400, true])
    }
  expectUntouched()
  for (const beta of ['é', 'a b', 'x'.repeat(5_000), 'a,,b', ' , ', 'a;b', 'a\tb', 'ok-1, é']) {
    expect(await messages(NATIVE, { 'anthropic-beta': beta })).toMatchObject({ status: 200 })
    expect(upstream.requests.at(-1)?.header('anthropic-beta') ?? '').toMatch(/^(a,b|ok-1|)$/)
  }
})

test('of the client’s headers only the version and the betas reach the upstream', async () => {
  const headers = {
    'anthropic-version': '2024-02-03',
    'anthropic-beta': 'one-2025-01-01, two-2025-01-01,one-2025-01-01',
    cookie: 'session=1',
    'x-forwarded-for': '1.2.3.4',
    'x-forwarded-host': 'evil.example',
    'proxy-authorization': 'Basic x',
    'x-evil': '1',
    'user-agent': 'client/1',
    te: 'trailers',
    origin: 'https://chat.example',
    'x-stainless-lang': 'js',
  }
  expect(await messages(NATIVE, headers)).toMatchObject({ status: 200 })
  const request = upstream.requests.at(-1)
  // `connection` is between two neighbours, and each transport's own.
  const sent = (request?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]).filter(([name]) => name !== 'connection')
  expect(Object.fromEntries(sent)).toEqual({
    host: new URL(upstream.url).host,
    'content-length': String(request?.body.length),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': 'tollgate',
    'x-api-key': UPSTREAM_API_KEY,
    'anthropic-version': '2024-02-03',
    'anthropic-beta': 'one-2025-01-01,two-2025-01-01',
  })
})
