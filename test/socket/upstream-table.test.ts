/**
 * Every way in which an upstream answers before a stream begins, and what the client is told and charged. Rules: faults.md "Before the first byte".
 */

import { afterAll, beforeEach, expect, test } from 'bun:test'
import { chunk, errorAnswer, head, nativeMessage, type Script } from '../support/fake-upstream.ts'
import { UPSTREAM_API_KEY } from '../support/gateway.ts'
import { FORMATS, startStage } from '../support/stage.ts'

const PROVIDER = 'Temporary provider issue on our side, retry in a minute'
const UNAVAILABLE = 'Service temporarily unavailable; retry later'
const TIMED_OUT = 'Service timed out; retry later'

const servedBy = (name: string) => ({ upstreams: [{ name, model: 'vendor-sonnet-1' }] })
const stage = await startStage({
  upstreams: ['http://127.0.0.1:1', 'http://nobody.invalid'],
  models: [
    servedBy('upstream-0'),
    { id: 'spotless', upstreams: [{ name: 'upstream-0', model: 'vendor-spotless-1' }] },
    { id: 'refused', ...servedBy('upstream-1') },
    { id: 'nameless', ...servedBy('upstream-2') },
  ],
})
const { gateway, upstream, play, ask } = stage
afterAll(() => stage.stop())
beforeEach(() => play([]))

type Refused = { status: number; type: string; message: string }

/** Asks in all formats, streamed and whole; every answer must be this refusal, leave no receipt and no hold, and say nothing of the upstream's. */
async function expectRefused(what: string, script: Script | undefined, expected: Refused, model?: string): Promise<readonly Response[]> {
  if (script !== undefined) play(script)
  const answers: Response[] = []
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const answer = await ask({ format, stream, ...(model === undefined ? {} : { model }) })
      const text = await answer.text()
      const { error, type } = JSON.parse(text)
      const told = { what, format, stream, status: answer.status, type: error.type, message: error.message, outer: type }
      expect(told).toEqual({ what, format, stream, ...expected, outer: 'error' })
      expect(await stage.receiptOf(answer)).toBeUndefined()
      for (const secret of ['vendor-sonnet-1', UPSTREAM_API_KEY, 'org_internal', '127.0.0.1']) expect(text).not.toContain(secret)
      answers.push(answer)
    }
  }
  return answers
}

const nativeError = (type: string, message = 'of org_internal, key upstream-secret-0123456789 at http://127.0.0.1/v1'): unknown => ({
  type: 'error',
  error: { type, message },
})

const lastLine = () =>
  gateway
    .logLines()
    .filter((line) => 'request_id' in line)
    .at(-1)

test('400 invalid_request_error passes with its message, our model id in it, and must not be retried', async () => {
  const long = 'prompt is too long: 210000 tokens > 200000 maximum'
  const expected = { status: 400, type: 'invalid_request_error' }
  const answers = await expectRefused('too long', errorAnswer(400, nativeError('invalid_request_error', long)), {
    ...expected,
    message: long,
  })
  for (const answer of answers) expect(answer.headers.get('x-should-retry')).toBe('false')
  const named = errorAnswer(400, nativeError('invalid_request_error', 'vendor-sonnet-1 does not support tools'))
  await expectRefused('model id', named, { ...expected, message: 'sonnet does not support tools' })
})

test('400 about our own account is our provider issue and an alarm', async () => {
  for (const text of ['Your credit balance is too low', 'This organization has been disabled', 'workspace spend limit reached']) {
    const script = errorAnswer(400, nativeError('invalid_request_error', text))
    await expectRefused(text, script, { status: 503, type: 'server_error', message: PROVIDER })
    expect(lastLine()).toMatchObject({ level: 'error', alarm: 'upstream', refusal: 'upstreamAccount' })
  }
})

test('400 of any other type is the mistake of the customer as well: no Retry-After, no alarm, and the upstream stays in', async () => {
  const expected = { status: 400, type: 'invalid_request_error' }
  const sentence = 'prompt is too long: 5000 tokens > 4096 maximum'
  const tooLong = {
    code: 400,
    message: 'request (5000 tokens) exceeds the available context size (4096 tokens)',
    type: 'exceed_context_size_error',
  }
  const stream = { 'content-type': 'text/event-stream' }
  for (const [what, status, body, message, headers] of [
    ['llama-server', 400, { error: { ...tooLong, n_prompt_tokens: 5000, n_ctx: 4096 } }, sentence, {}],
    ['llama-server, as a stream', 400, `event: error\ndata: ${JSON.stringify(tooLong)}\n\n`, sentence, stream],
    [
      'vLLM',
      400,
      { error: { type: 'BadRequestError', message: 'vendor-spotless-1 takes no images', code: 400 } },
      'spotless takes no images',
      {},
    ],
    [
      'SGLang',
      422,
      { detail: [{ loc: ['body', 'top_k'], msg: 'Input should be a valid integer' }] },
      'top_k: Input should be a valid integer',
      {},
    ],
    ['says nothing', 400, '', 'Invalid request', {}],
    ['no object', 400, '[]', 'Invalid request', {}],
  ] as const) {
    // More often than a breaker would bear.
    const script = errorAnswer(status, body, headers)
    const once = await expectRefused(what, script, { ...expected, message }, 'spotless')
    const answers = [...once, ...(await expectRefused(what, script, { ...expected, message }, 'spotless'))]
    for (const answer of answers) expect([answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([null, 'false'])
    expect(lastLine()).not.toHaveProperty('alarm')
  }
  const metrics = (await gateway.world.metrics.render()).split('\n')
  expect(metrics.filter((line) => line.startsWith('tollgate_upstream_breaker') && line.includes('spotless'))).toEqual([])
})

test('400 that is a page is a broken upstream', async () => {
  for (const body of ['<html>Bad Request</html>', '\n<!doctype html>'])
    await expectRefused(body, errorAnswer(400, body), { status: 502, type: 'server_error', message: UNAVAILABLE })
})

test('a code of the vendor’s kind in the details of a 400 reaches the clients of messages, and nothing else of the details does', async () => {
  const details = { error_code: 'request_body_timeout', request_id: 'req_01ABCDEFGH', hint: 'of org_internal' }
  play(errorAnswer(400, { type: 'error', error: { type: 'invalid_request_error', message: 'slow body', details } }))
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const { error } = JSON.parse(await (await ask({ format, stream })).text())
      const shown = { type: 'invalid_request_error', message: 'slow body' }
      expect(error).toEqual(format === 'messages' ? { ...shown, details: { error_code: 'request_body_timeout' } } : shown)
    }
  }
})

test('401, 402, 403, 404: our account is refused, which is 503 for the client and an alarm for the operator', async () => {
  for (const status of [401, 402, 403, 404]) {
    const script = errorAnswer(status, nativeError('authentication_error'))
    await expectRefused(String(status), script, { status: 503, type: 'server_error', message: PROVIDER })
    expect(lastLine()).toMatchObject({ level: 'error', alarm: 'upstream', cause: `status ${status}` })
  }
})

test('413 is our 413', async () => {
  const script = errorAnswer(413, nativeError('request_too_large'))
  await expectRefused('413', script, { status: 413, type: 'invalid_request_error', message: 'request body exceeds size limit' })
})

test('a busy upstream is 503 with its Retry-After in whole seconds from 1 to 30', async () => {
  const given = { 408: ['3', '3'], 409: ['0', '1'], 425: ['900', '30'], 429: ['2.2', '3'], 503: ['soon', '1'], 529: [undefined, '1'] }
  for (const [status, [sent, told]] of Object.entries(given)) {
    const script = errorAnswer(Number(status), nativeError('overloaded_error'), sent === undefined ? {} : { 'retry-after': sent })
    const answers = await expectRefused(status, script, { status: 503, type: 'server_error', message: PROVIDER })
    for (const answer of answers) expect(answer.headers.get('retry-after')).toBe(told ?? null)
  }
})

test('500 and every other 5xx or unknown status is 502', async () => {
  for (const status of [500, 501, 502, 520, 418, 204])
    await expectRefused(String(status), [head(status, { 'content-length': '0' })], {
      status: 502,
      type: 'server_error',
      message: UNAVAILABLE,
    })
})

test('a redirect is 502 and is not followed', async () => {
  for (const status of [301, 302, 307, 308]) {
    const before = upstream.requests.length
    const script = errorAnswer(status, '', { location: `${upstream.url}/elsewhere` })
    await expectRefused(String(status), script, { status: 502, type: 'server_error', message: UNAVAILABLE })
    const arrived = upstream.requests.slice(before)
    expect(arrived.map(({ path }) => path)).toEqual(arrived.map(() => '/v1/messages'))
    expect(arrived).toHaveLength(2 * FORMATS.length)
  }
})

test('504 is 504', () =>
  expectRefused('504', errorAnswer(504, ''), { status: 504, type: 'server_error', message: TIMED_OUT }).then(() => undefined))

test('an upstream that refuses connections, has no address or breaks off is 502 within a second', async () => {
  const expected = { status: 502, type: 'server_error', message: UNAVAILABLE }
  await expectRefused('refused', undefined, expected, 'refused')
  expect(lastLine()).toMatchObject({ cause: 'refused', upstream: 'upstream-1' })
  await expectRefused('dns', undefined, expected, 'nameless')
  await expectRefused('reset', [{ reset: true }], expected)
  await expectRefused('closed', [{ end: true }], expected)
  await expectRefused('no HTTP', [{ bytes: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' }, { end: true }], expected)
  await expectRefused('cut head', [{ bytes: 'HTTP/1.1 200 OK\r\ncontent-type: appl' }, { end: true }], expected)
})

test('a 200 that is no answer is 502: HTML, nothing, half a JSON, another JSON, too little of it', async () => {
  const expected = { status: 502, type: 'server_error', message: UNAVAILABLE }
  const json = { 'content-type': 'application/json' }
  await expectRefused('HTML', errorAnswer(200, '<html>Sign in</html>', { 'content-type': 'text/html' }), expected)
  await expectRefused('no type', [head(200, { 'content-length': '2' }), { bytes: '{}' }], expected)
  for (const body of [
    '',
    '{"type":"message","content":[{"type":"text","te',
    '[]',
    'null',
    '{"type":"completion"}',
    '{"type":"message","content":"x"}',
  ])
    await expectRefused(body, errorAnswer(200, body), expected)
  await expectRefused(
    'cut length',
    [head(200, { ...json, 'content-length': '500' }), { bytes: '{"type":"message"' }, { end: true }],
    expected,
  )
  const cutChunk = [head(200, { ...json, 'transfer-encoding': 'chunked' }), chunk('{"type":"message"'), { reset: true }] as const
  await expectRefused('cut chunks', cutChunk, expected)
})

const message = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [{ type: 'text', text: 'Hello, dear client' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  ...more,
})

test('a whole answer costs what it says it used, in every format, streamed or not', async () => {
  play(
    nativeMessage(
      message({ usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 } }),
    ),
  )
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const answer = await ask({ format, stream })
      expect([format, stream, answer.status]).toEqual([format, stream, 200])
      expect(await answer.text()).toContain('Hello, dear client')
      const costPicos = 11n * 3_000_000n + 7n * 15_000_000n + 100n * 300_000n + 20n * 3_750_000n
      expect(await stage.receiptOf(answer)).toMatchObject({
        outcome: 'complete',
        usageSource: 'final',
        costPicos,
        waivedPicos: 0n,
        status: 200,
      })
    }
  }
})

test('an answer without usage is charged by estimate and marked so', async () => {
  play(nativeMessage(message()))
  for (const format of FORMATS) {
    for (const stream of [false, true]) {
      const answer = await ask({ format, stream })
      expect(answer.status).toBe(200)
      await answer.text()
      const receipt = await stage.receiptOf(answer)
      expect(receipt).toMatchObject({ outcome: 'complete', usageSource: 'estimated', waivedPicos: 0n })
      expect(receipt?.outputTokens).toBe(4)
      expect(receipt?.inputTokens).toBeGreaterThan(10)
    }
  }
})
