/**
 * What passes between client and upstream and what does not: headers, query, versions, names, bytes. Rules: messages.md "Headers", "Pass-through";
 * requests.md "What never leaks".
 */

import { afterAll, expect, test } from 'bun:test'
import { chunk, EVENT_STREAM, errorAnswer, head, LAST_CHUNK, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { UPSTREAM_API_KEY } from '../support/gateway.ts'
import { FORMATS, question, startStage } from '../support/stage.ts'

const stage = await startStage({ models: [{}, { id: 'vendor-sonnet-1' }] })
const { gateway, upstream, secret, play, ask } = stage
afterAll(() => stage.stop())

const usage = { input_tokens: 20, output_tokens: 9 }
const content = [{ type: 'text', text: 'Good morning' }]
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'vendor-sonnet-1', content, stop_reason: 'end_turn', usage }
const frames = textFrames('Good morning', { ...usage, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }, 9)

/** What an upstream may betray. */
const TELLTALE = {
  'set-cookie': 'session=upstream-cookie',
  server: 'upstream-server',
  'request-id': 'req_of_upstream',
  'x-request-id': 'req_of_upstream',
  'anthropic-organization-id': 'org_internal',
  'anthropic-ratelimit-unified-status': 'allowed',
  'cf-ray': 'ray-upstream',
  'x-should-retry': 'true',
  'x-upstream-key': UPSTREAM_API_KEY,
}

test('only our own headers reach the upstream, whatever the client sends', async () => {
  play(nativeMessage(message))
  const nasty = {
    cookie: 'a=client-canary',
    'x-forwarded-for': '203.0.113.7',
    'x-real-ip': '203.0.113.7',
    forwarded: 'for=203.0.113.7',
    'proxy-authorization': 'Basic client-canary',
    te: 'trailers',
    'x-evil': 'client-canary',
    'user-agent': 'client-canary',
    'x-stainless-lang': 'client-canary',
    'anthropic-dangerous-direct-browser-access': 'true',
    'openai-organization': 'client-canary',
    'accept-language': 'de',
    'accept-encoding': 'gzip, br',
    'x-request-id': 'client-canary',
    traceparent: 'client-canary',
  }
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const answer = await ask({ format, stream }, { headers: { authorization: `Bearer ${secret}`, ...nasty } })
      expect(answer.status).toBe(200)
      await answer.text()
      const request = upstream.requests.at(-1)
      const sent = Object.fromEntries((request?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value]))
      const { connection: _, host, 'content-length': length, ...ours } = sent
      expect(ours).toEqual({
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'accept-encoding': 'identity',
        'user-agent': 'tollgate',
        'anthropic-version': '2023-06-01',
        'x-api-key': UPSTREAM_API_KEY,
      })
      expect(host).toBe(new URL(upstream.url).host)
      expect(Number(length)).toBe(request?.body.length ?? -1)
      const recorded = JSON.stringify(request?.headers) + Buffer.from(request?.body ?? []).toString()
      for (const secretText of [secret, 'client-canary', '203.0.113.7']) expect(recorded).not.toContain(secretText)
    }
  }
})

test('every answer names the model that was asked for, also where the upstream has that name too and answers with a snapshot of it', async () => {
  const snapshot = 'vendor-sonnet-1-20260928'
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      play(
        stream
          ? nativeStream(...frames.map((frame) => frame.replace('upstream-model', snapshot)))
          : nativeMessage({ ...message, model: snapshot }),
      )
      const text = await (await ask({ format, stream, model: 'vendor-sonnet-1' })).text()
      expect(text).toContain('"model":"vendor-sonnet-1"')
      expect(text).not.toContain(snapshot)
    }
  }
})

test('version and betas of the client reach the upstream on messages, cleaned, and nowhere else', async () => {
  play(nativeMessage(message))
  const headers = {
    'x-api-key': secret,
    'anthropic-version': '2024-10-22',
    'anthropic-beta': 'interleaved-thinking-2025-05-14,  ,not a beta!',
  }
  for (const format of FORMATS) {
    expect((await ask({ format }, { headers })).status).toBe(200)
    const request = upstream.requests.at(-1)
    expect(request?.header('anthropic-version')).toBe(format === 'messages' ? '2024-10-22' : '2023-06-01')
    if (format === 'messages') expect(request?.header('anthropic-beta')).toContain('interleaved-thinking-2025-05-14')
    else expect(request?.header('anthropic-beta') ?? '').not.toContain('interleaved')
    expect(request?.header('x-api-key')).toBe(UPSTREAM_API_KEY)
  }
})

test('no header of the upstream reaches the client, on success, on errors and in streams', async () => {
  const scripts = [
    nativeMessage(message, TELLTALE),
    errorAnswer(529, { type: 'error', error: { type: 'overloaded_error', message: `org_internal ${UPSTREAM_API_KEY}` } }, TELLTALE),
    errorAnswer(401, { type: 'error', error: { type: 'authentication_error', message: `org_internal ${UPSTREAM_API_KEY}` } }, TELLTALE),
    [head(200, { ...EVENT_STREAM, ...TELLTALE, 'transfer-encoding': 'chunked' }), ...frames.map((frame) => chunk(frame)), LAST_CHUNK],
  ]
  const allowed = new Set([
    'access-control-allow-origin',
    'access-control-expose-headers',
    'cache-control',
    'content-length',
    'content-type',
    'date',
    'request-id',
    'retry-after',
    'transfer-encoding',
    'vary',
    'x-accel-buffering',
    'x-balance-usd',
    'x-cost-usd',
    'x-request-id',
    'x-should-retry',
    'connection',
  ])
  for (const script of scripts) {
    play(script)
    for (const format of FORMATS) {
      for (const stream of [false, true]) {
        const raw = await stage.askRaw({ format, stream })
        const answer = await raw.response()
        raw.reset()
        expect(answer.headers.map(([name]) => name.toLowerCase()).filter((name) => !allowed.has(name))).toEqual([])
        const whole = JSON.stringify(answer.headers) + answer.text
        for (const text of ['upstream-cookie', 'upstream-server', 'req_of_upstream', 'org_internal', 'ray-upstream', UPSTREAM_API_KEY])
          expect(whole).not.toContain(text)
        expect(answer.header('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
        expect(answer.header('request-id')).toBe(answer.header('x-request-id') ?? '')
      }
    }
  }
})

test('of the query `beta=true` goes with a messages request, nothing else of it, and nothing with any other', async () => {
  play(nativeMessage(message))
  for (const [query, path] of [
    ['?beta=true', '/v1/messages?beta=true'],
    ['?x=%20&beta=true&api_key=sk-1', '/v1/messages?beta=true'],
    ['?beta=false', '/v1/messages'],
    ['?x=beta=true&alphabeta=true', '/v1/messages'],
    ['?', '/v1/messages'],
    ['', '/v1/messages'],
  ] as const) {
    expect((await ask({ query })).status).toBe(200)
    expect(upstream.requests.at(-1)?.path).toBe(path)
  }
  for (const format of ['chat', 'responses'] as const) {
    expect((await ask({ format, query: '?beta=true' })).status).toBe(200)
    expect(upstream.requests.at(-1)?.path).toBe('/v1/messages')
  }
})

const sha256 = (bytes: Uint8Array | string): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

test('on messages the client gets the very bytes of the upstream, and the upstream the very bytes of the client', async () => {
  const body = `{"max_tokens" : 32,\n "model":"vendor-sonnet-1", "stream":true, "x_unknown":{"a":1e3,"b":"\\u00e9"},"messages":[{"role":"user","content":"Grüße 🌍"}]}`
  const native = frames.map((frame) => frame.replaceAll('upstream-model', 'vendor-sonnet-1').replace('Good morning', 'Grüße 🌍'))
  play(nativeStream(...native))
  const answer = await gateway.post('/v1/messages', secret, body)
  expect(sha256(await answer.bytes())).toBe(sha256(native.join('')))
  expect(sha256(upstream.requests.at(-1)?.body ?? '')).toBe(sha256(body))
  const whole = `{ "id":"msg_1","type":"message", "role":"assistant","model":"vendor-sonnet-1","content":[{"type":"text","text":"\\u00e9 🌍"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}, "new_field": 1.50 }`
  play(errorAnswer(200, whole))
  const plain = await gateway.post('/v1/messages', secret, body.replace('"stream":true', '"stream":false'))
  expect(sha256(await plain.bytes())).toBe(sha256(whole))
})

test('where our model id differs, only the model is rewritten', async () => {
  const native = frames.map((frame) => frame.replaceAll('upstream-model', 'vendor-sonnet-1'))
  play(nativeStream(...native))
  const text = await (await ask({ stream: true })).text()
  expect(text).toBe(native.join('').replace('"model":"vendor-sonnet-1"', '"model":"sonnet"'))
  const sent = { ...question({ stream: true }).body, model: 'vendor-sonnet-1' }
  expect(upstream.requests.at(-1)?.json()).toEqual(sent)
})

test('content reaches the client while the upstream is still sending', async () => {
  const [start = '', open = '', delta = ''] = frames
  for (const format of FORMATS) {
    // The upstream says nothing more: what has come did not wait for the rest.
    play(nativeStream(start, open, delta, { stall: true }))
    const raw = await stage.askRaw({ format, stream: true })
    await raw.until((bytes) => Buffer.from(bytes).includes('Good morning'))
    expect(gateway.holds()).toHaveLength(1)
    raw.reset()
    await gateway.idle()
  }
})

test('an event that the format does not have is passed on where its upstream is said to speak as the vendor, and nowhere else', async () => {
  const [start = '', ...rest] = frames
  const news = 'event: vibe_check\ndata: {"type":"vibe_check","mood":"calm"}\n\n'
  const script = nativeStream(start, news, ...rest)
  play(script)
  expect(await (await ask({ stream: true })).text()).not.toContain('vibe_check')
  const vendors = await startStage({ upstream: { dialect: 'vendor' } })
  try {
    vendors.play(script)
    expect(await (await vendors.ask({ stream: true })).text()).toContain(news)
  } finally {
    await vendors.stop()
  }
})

test("of an upstream whose words are not to be told an error under a name of its own tells none, in the vendor's dialect neither; news are passed on", async () => {
  const quiet = await startStage({ upstream: { hidesErrorText: true, dialect: 'vendor' } })
  const news = 'event: vibe_check\ndata: {"type":"vibe_check","mood":"calm"}\n\n'
  const named = ['event: server_error\ndata: ', 'event: vibe_broken\ndata: ']
  const errors = named.map((line) => `${line}${JSON.stringify({ error: { message: 'secret-words of the upstream' } })}\n\n`)
  try {
    for (const error of errors)
      for (const before of [frames.slice(0, 3), []]) {
        quiet.play(nativeStream(...before, error))
        expect(await (await quiet.ask({ stream: true })).text()).not.toContain('secret-words')
      }
    quiet.play(nativeStream(...frames.slice(0, 1), news, ...frames.slice(1)))
    expect(await (await quiet.ask({ stream: true })).text()).toContain(news)
  } finally {
    await quiet.stop()
  }
})

test('of an upstream whose words are not to be told none reaches a customer: before the first byte, as first event and in a stream', async () => {
  const quiet = await startStage({ upstream: { hidesErrorText: true } })
  const error = { type: 'invalid_request_error', message: 'max_tokens: secret-words of the upstream', details: { error_code: 'too_many' } }
  const event = `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  const scripts = [errorAnswer(400, { type: 'error', error }), nativeStream(event), nativeStream(...frames.slice(0, 3), event)]
  for (const [index, script] of scripts.entries())
    for (const format of FORMATS) {
      quiet.play(script)
      const answer = await quiet.ask({ format, stream: index > 0 })
      const text = await answer.text()
      expect([index, format, text.includes('Invalid request'), text.includes('secret-words')]).toEqual([index, format, true, false])
    }
  quiet.play(errorAnswer(400, { type: 'error', error: { ...error, message: 'prompt is too long: 9 tokens > 8 maximum' } }))
  expect(await (await quiet.ask({ format: 'messages' })).json()).toMatchObject({
    error: { message: 'prompt is too long: 9 tokens > 8 maximum' },
  })
  await quiet.stop()
})
