/**
 * A server that speaks chat as an upstream: what a client that leaves pays, how long the usage is waited for, what failover makes of it beside a native upstream, and which
 * thinking goes where. Rules: openai.md "Ends", "Usage", "Pools", "Thinking"; money.md "Charges"; pool.md "Failover".
 */

import { afterAll, describe, expect, test } from 'bun:test'
import {
  MESSAGE,
  type Move,
  nativeMessage,
  nativeStream,
  type RecordedRequest,
  type Script,
  startFakeUpstream,
} from '../support/fake-upstream.ts'
import { chatUpstream, MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { FORMATS, type Stage, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const timings = { leaverGraceMs: 60, firstEventWaitMs: 20 }
const stage = await startStage({ ...chatUpstream(''), upstreams: [], timings })
const aborting = await startStage({ ...chatUpstream('', { isFinishedAlone: false }), upstreams: [], timings })
/** Waits for usage no longer than a test can. */
const hasty = await startStage({ ...chatUpstream(''), upstreams: [], timings: { ...timings, terminalWaitMs: 50 } })
afterAll(() => Promise.all([stage.stop(), aborting.stop(), hasty.stop()]))

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const START = chunk({ role: 'assistant', content: '' })
/** Forty bytes of text: ten tokens by estimate. */
const TEXT = chunk({ content: 'Forty bytes of text, no more and no less' })
const FINISH = chunk({}, 'stop')
const USAGE = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 27, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 7 } } })}\n\n`
const DONE = 'data: [DONE]\n\n'
const EXACT = 20n * 3_000_000n + 7n * 300_000n + 9n * 15_000_000n
const STALL = { stall: true } as const

const has =
  (text: string) =>
  (bytes: Uint8Array): boolean =>
    Buffer.from(bytes).includes(text)

describe.each(FORMATS.map((format) => [format] as const))('a stream to a client of %s', (format) => {
  test('is read to its end behind a client that left, and charged exactly', async () => {
    const gone = Promise.withResolvers<void>()
    stage.play(nativeStream(START, TEXT, { when: gone.promise }, FINISH, USAGE, DONE))
    const [receipt] = await stage.receiptsOf(async () => {
      const raw = await stage.askRaw({ format, stream: true })
      await raw.until(has('Forty bytes'))
      raw.reset()
      await until(() => stage.gateway.holds().length === 1, 'the hold to stand')
      gone.resolve()
      await stage.gateway.idle()
    })
    expect(receipt).toMatchObject({
      usageSource: 'final',
      inputTokens: 20,
      cacheReadTokens: 7,
      outputTokens: 9,
      costPicos: EXACT,
      waivedPicos: 0n,
    })
  })

  test('is read to its end also where its client left before it began', async () => {
    const gone = Promise.withResolvers<void>()
    stage.play([{ when: gone.promise }, ...nativeStream(START, TEXT, FINISH, USAGE, DONE)])
    const index = stage.upstream.requests.length
    const [receipt] = await stage.receiptsOf(async () => {
      const raw = await stage.askRaw({ format, stream: true })
      await stage.upstream.arrival(index)
      raw.reset()
      await new Promise((resolve) => setImmediate(resolve))
      gone.resolve()
      await stage.gateway.idle()
    })
    expect(receipt).toMatchObject({ usageSource: 'final', costPicos: EXACT })
  })

  test('is ended behind a client that left where the setting says so, and charged by an estimate', async () => {
    aborting.play(nativeStream(START, TEXT, STALL))
    const index = aborting.upstream.requests.length
    const [receipt] = await aborting.receiptsOf(async () => {
      const raw = await aborting.askRaw({ format, stream: true })
      const request = await aborting.upstream.arrival(index)
      await raw.until(has('Forty bytes'))
      raw.reset()
      await until(() => request.abortedAtMs !== undefined, 'the upstream to be let go')
    })
    expect(receipt).toMatchObject({ outcome: 'leaver', usageSource: 'estimated', outputTokens: 10 })
  })

  test('ends without its usage when that does not come, and is charged by an estimate', async () => {
    hasty.play(nativeStream(START, TEXT, FINISH, STALL))
    const answer = await hasty.ask({ format, stream: true })
    const text = await answer.text()
    expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/)
    expect(await hasty.receiptOf(answer)).toMatchObject({ outcome: 'complete', usageSource: 'estimated', outputTokens: 10 })
  })

  test('that is cut off is an error and free', async () => {
    stage.play(nativeStream(START, TEXT))
    const answer = await stage.ask({ format, stream: true })
    expect(await answer.text()).toContain('Service temporarily unavailable')
    expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'fault', costPicos: 0n })
  })

  test('may come as a whole completion', async () => {
    const message = { role: 'assistant', content: 'Forty' }
    const usage = { prompt_tokens: 27, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 7 } }
    stage.play(json({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
    for (const stream of [true, false]) {
      const answer = await stage.ask({ format, stream })
      expect(await answer.text()).toContain('Forty')
      expect(await stage.receiptOf(answer)).toMatchObject({ outcome: 'complete', usageSource: 'final', costPicos: EXACT })
    }
  })

  test('that begins with an error inside a 200 has the status of the error', async () => {
    stage.play(nativeStream('data: {"error":{"message":"busy","type":"overloaded_error"}}\n\n'))
    expect((await stage.ask({ format, stream: true })).status).toBe(503)
    stage.play(json({ error: { message: 'busy', type: 'overloaded_error' } }))
    expect((await stage.ask({ format, stream: false })).status).toBe(503)
    stage.play(
      json({
        object: 'error',
        message: "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
        code: 400,
      }),
    )
    const tooLong = await stage.ask({ format, stream: false })
    expect([tooLong.status, await tooLong.text()]).toEqual([400, expect.stringContaining('prompt is too long: 5000 tokens > 4096 maximum')])
  })
})

function json(value: object, status = 200): Script {
  const body = JSON.stringify(value)
  return [{ bytes: `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}` }]
}

test('the request goes to the route behind the address, with a Bearer key, without the vendor’s headers, and as chat', async () => {
  stage.play(nativeStream(START, TEXT, FINISH, USAGE, DONE))
  for (const format of FORMATS) {
    const index = stage.upstream.requests.length
    await (await stage.ask({ format, stream: true })).text()
    const request = stage.upstream.requests[index]
    expect([request?.path, request?.header('authorization')?.slice(0, 7)]).toEqual(['/chat/completions', 'Bearer '])
    expect([request?.header('x-api-key'), request?.header('anthropic-version'), request?.header('anthropic-beta')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(request?.json()).toMatchObject({
      model: 'vendor-sonnet-1',
      max_tokens: 32,
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: 'Hello there' }],
    })
  }
})

test('tokens are estimated, and said to be, where the setting says so', async () => {
  const { upstream, ...options } = chatUpstream('')
  await using estimating = await startStage({ ...options, upstreams: [], upstream: { ...upstream, countTokens: 'estimate' } })
  const body = { model: MODEL_ID, messages: [{ role: 'user', content: 'Hello there' }] }
  const answer = await estimating.gateway.post('/v1/messages/count_tokens', estimating.secret, body)
  expect([answer.status, answer.headers.get('x-tokens-estimated')]).toEqual([200, 'true'])
  expect(await answer.json()).toMatchObject({ input_tokens: expect.any(Number) })
  expect(estimating.upstream.requests).toEqual([])
})

test('a quota of ours that is used up is trouble of our account, with an alarm', async () => {
  stage.play(json({ error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } }, 429))
  const answer = await stage.ask({ format: 'chat' })
  expect([answer.status, await answer.text()]).toEqual([503, expect.not.stringContaining('quota')])
  expect(stage.gateway.logLines().find((line) => line['cause'] === 'status 429')).toMatchObject({ alarm: 'upstream' })
})

test('an error that comes first inside a 200 is a failed call, and the next upstream is asked', async () => {
  using second = await startFakeUpstream({ answer: () => nativeStream(START, TEXT, FINISH, USAGE, DONE) })
  const { models: [model] = [], upstream } = chatUpstream('')
  const upstreams = [
    { name: 'upstream-0', model: 'a', dialect: 0 },
    { name: 'upstream-1', model: 'b', dialect: 0 },
  ]
  await using pair = await startStage({
    ...(upstream && { upstream }),
    upstreams: [second.url],
    models: [{ ...model, upstreams }],
    timings,
  })
  pair.play(nativeStream('data: {"error":{"message":"out of memory","type":"server_error"}}\n\n'))
  for (const format of FORMATS) {
    const answer = await pair.ask({ format, stream: true })
    expect(await answer.text()).toContain('Forty bytes of text')
    expect(await pair.receiptOf(answer)).toMatchObject({ outcome: 'complete', costPicos: EXACT })
  }
})

const SCHEMA = { type: 'object', properties: { size: { type: 'integer' } }, additionalProperties: false, required: ['size'] }
const strictText = (more: object = {}) => ({ format: { type: 'json_schema', name: 'cat', strict: true, schema: SCHEMA, ...more } })

test('a strict schema of a responses client is a setting of the request, and any other a sentence', async () => {
  stage.play(nativeStream(START, TEXT, FINISH, USAGE, DONE))
  const sent = async (on: Stage, more: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const index = on.upstream.requests.length
    expect((await on.ask({ format: 'responses', stream: true, more })).status).toBe(200)
    await on.gateway.idle()
    return on.upstream.requests[index]?.json() as Record<string, unknown>
  }
  const user = { role: 'user', content: 'Hello there' }
  const response_format = { type: 'json_schema', json_schema: { name: 'cat', strict: true, schema: SCHEMA } }
  expect(await sent(stage, { text: strictText() })).toMatchObject({ response_format, messages: [user] })
  const told = await sent(stage, { text: strictText({ description: 'A cat' }), instructions: 'Be brief.' })
  expect(told).toMatchObject({ messages: [{ role: 'system', content: 'Be brief.' }, user] })
  expect(told).toMatchObject({ response_format: { json_schema: { name: 'cat', description: 'A cat', strict: true, schema: SCHEMA } } })
  const cached = { role: 'system', content: [{ type: 'input_text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] }
  expect(await sent(stage, { text: strictText(), input: [cached, user] })).toMatchObject({
    response_format,
    messages: [{ role: 'system', content: 'Be brief.' }, user],
  })
  const hint = { role: 'system', content: expect.stringContaining(JSON.stringify(SCHEMA)) }
  for (const strict of [false, undefined, null]) {
    const loose = await sent(stage, { text: strictText({ strict }) })
    expect([loose['response_format'], loose['messages']]).toEqual([undefined, [hint, user]])
  }
  await using unable = await startStage({ ...chatUpstream('', { dialect: { dropFields: ['response_format'] } }), upstreams: [], timings })
  unable.play(nativeStream(START, TEXT, FINISH, USAGE, DONE))
  const dropped = await sent(unable, { text: strictText() })
  expect([dropped['response_format'], dropped['messages']]).toEqual([undefined, [hint, user]])
})

describe('a model with upstreams of both kinds', () => {
  const { models: [model] = [], upstream } = chatUpstream('')
  const both = {
    isNative: true,
    upstreams: [
      { name: 'upstream-0', model: 'vendor-sonnet-1' },
      { name: 'upstream-1', model: 'desk-model', dialect: 0 },
    ],
  }

  async function pool(native: (request: RecordedRequest) => Iterable<Move>, chat: (request: RecordedRequest) => Iterable<Move>) {
    const [first, second] = await Promise.all([startFakeUpstream({ answer: native }), startFakeUpstream({ answer: chat })])
    const gateway = await startTestGateway({
      upstreams: [first.url, second.url],
      upstreamEach: [{}, upstream ?? {}],
      models: [{ ...model, ...both, mayMeetOwnThinking: true }],
      timings,
    })
    const secret = await gateway.createKey({ balanceUsd: '1000' })
    const stop = async (): Promise<void> => {
      await gateway.stop()
      first.stop()
      second.stop()
    }
    return { first, second, gateway, secret, [Symbol.asyncDispose]: stop }
  }

  const CHAT = () => nativeStream(START, TEXT, FINISH, USAGE, DONE)
  const asked = { model: MODEL_ID, max_tokens: 32, stream: true }
  const messages = [{ role: 'user', content: 'Hello there' }]
  const PATHS = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' } as const

  test('is served by the other kind where one fails, in the client’s own format, with one receipt', async () => {
    await using site = await pool(() => json({ error: { type: 'overloaded_error', message: 'busy' } }, 529), CHAT)
    for (const format of FORMATS) {
      const body =
        format === 'responses' ? { model: MODEL_ID, stream: true, max_output_tokens: 32, input: 'Hello there' } : { ...asked, messages }
      const before = site.gateway.receipts().length
      const text = await (await site.gateway.post(PATHS[format], site.secret, body)).text()
      expect(text).toContain('Forty bytes of text')
      await site.gateway.idle()
      expect(site.gateway.receipts().slice(before)).toMatchObject([{ costPicos: EXACT, usageSource: 'final' }])
    }
    expect(site.second.requests.map((request) => (request.json() as { model: string }).model)).toEqual([
      'desk-model',
      'desk-model',
      'desk-model',
    ])
  })

  test('serves by its native upstream alone what chat cannot be told', async () => {
    await using site = await pool(() => nativeMessage({ ...MESSAGE, content: [{ type: 'text', text: 'seen' }] }), CHAT)
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }
    const answer = await site.gateway.post('/v1/messages', site.secret, {
      ...asked,
      stream: false,
      messages: [{ role: 'user', content: [pdf] }],
    })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('seen')])
    expect(site.second.requests).toEqual([])
  })

  test('does not ask a server for what it cannot be told, also where no other is left', async () => {
    await using site = await pool(() => json({ error: { type: 'api_error', message: 'down' } }, 500), CHAT)
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } }
    const answer = await site.gateway.post('/v1/messages', site.secret, {
      ...asked,
      stream: false,
      messages: [{ role: 'user', content: [pdf] }],
    })
    expect([answer.status, site.second.requests.length]).toEqual([502, 0])
  })

  test('is told a strict schema by each kind as that kind has it, also where a chat request is translated', async () => {
    await using site = await pool(() => json({ error: { type: 'api_error', message: 'down' } }, 500), CHAT)
    const json_schema = { name: 'cat', strict: true, schema: SCHEMA }
    // `store` chooses a tenant: the request is not passed on as it is.
    const requests = [
      [PATHS.responses, { model: MODEL_ID, stream: true, input: 'Hello there', text: strictText() }],
      [PATHS.chat, { ...asked, messages, response_format: { type: 'json_schema', json_schema }, store: true }],
      [PATHS.chat, { ...asked, messages, response_format: { type: 'json_schema', json_schema } }],
    ] as const
    for (const [path, body] of requests) {
      const index = site.first.requests.length
      expect(await (await site.gateway.post(path, site.secret, body)).text()).toContain('Forty bytes of text')
      const native = site.first.requests[index]?.json() as Record<string, unknown>
      expect(native).toMatchObject({ system: expect.stringContaining(JSON.stringify(SCHEMA)) })
      expect([native['response_format'], native['output_config']]).toEqual([undefined, undefined])
      expect(site.second.requests.at(-1)?.json()).toMatchObject({ response_format: { type: 'json_schema', json_schema }, messages })
    }
  })

  test('lets calls that a server of the one kind has named go on at the other, and gives that server its own ids back', async () => {
    const fn = { name: 'f', arguments: '{}' }
    const call = chunk({ tool_calls: [{ index: 0, id: 'functions.f:0', type: 'function', function: fn }] })
    await using site = await pool(
      () => json({ error: { type: 'api_error', message: 'down' } }, 500),
      () => nativeStream(START, call, chunk({}, 'tool_calls'), USAGE, DONE),
    )
    for (const format of ['messages', 'responses'] as const) {
      const tools =
        format === 'messages'
          ? [{ name: 'f', input_schema: { type: 'object' } }]
          : [{ type: 'function', name: 'f', parameters: { type: 'object' } }]
      const first = format === 'messages' ? { ...asked, messages, tools } : { model: MODEL_ID, stream: true, input: 'Hello there', tools }
      const said = await (await site.gateway.post(PATHS[format], site.secret, first)).text()
      const id = /"(?:call_)?id":"(id64_[^"]*)"/.exec(said)?.[1]
      expect(id).toMatch(/^[a-zA-Z0-9_-]+$/)
      const next =
        format === 'messages'
          ? [
              ...messages,
              { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] },
            ]
          : [
              { role: 'user', content: 'Hello there' },
              { type: 'function_call', call_id: id, ...fn },
              { type: 'function_call_output', call_id: id, output: 'done' },
            ]
      const later = format === 'messages' ? { ...first, messages: next } : { ...first, input: next }
      const before = site.first.requests.length
      await (await site.gateway.post(PATHS[format], site.secret, later)).text()
      const native = site.first.requests.slice(before).map((request) => Buffer.from(request.body).toString())
      expect(native.length).toBeGreaterThan(0)
      for (const body of native) expect([body.includes('functions.f:0'), body.split(id ?? '').length]).toEqual([false, 3])
      expect(site.second.requests.at(-1)?.json()).toMatchObject({
        messages: [{}, { tool_calls: [{ id: 'functions.f:0' }] }, { role: 'tool', tool_call_id: 'functions.f:0' }],
      })
    }
  })

  test('gives thinking of the one kind back to it, and to the native one never', async () => {
    const reasoning = nativeStream(START, chunk({ reasoning_content: 'Hm' }), TEXT, FINISH, USAGE, DONE)
    await using site = await pool(
      () => json({ error: { type: 'api_error', message: 'down' } }, 500),
      () => reasoning,
    )
    const text = await (await site.gateway.post('/v1/messages', site.secret, { ...asked, messages })).text()
    const signature = /"signature":"(tollgate[^"]+)"/.exec(text)?.[1]
    expect(signature).toBe('tollgate.reasoning_content')
    const history = [
      ...messages,
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature },
          { type: 'text', text: 'Forty' },
        ],
      },
      { role: 'user', content: 'Go on' },
    ]
    await (await site.gateway.post('/v1/messages', site.secret, { ...asked, messages: history })).text()
    expect(site.second.requests.at(-1)?.json()).toMatchObject({
      messages: [{}, { role: 'assistant', content: 'Forty', reasoning_content: 'Hm' }, {}],
    })
    const sent = site.first.requests.map((request) => Buffer.from(request.body).toString())
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.filter((body) => body.includes('tollgate.'))).toEqual([])
    expect(sent.some((body) => body.includes('Go on') && body.includes('"Forty"'))).toBe(true)
  })
})
