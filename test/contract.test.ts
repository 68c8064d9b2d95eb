/**
 * The tables of contract.md "Endpoints", "Errors" and "Limits", row by row, on a running gateway: endpoints, errors, limits. A row that has no test here, or
 * whose words change, breaks the contract. The finer cases of each row stand in test/http.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CACHE_BREAKPOINTS_MAX, KEY_EXPIRY_DAYS_MAX, LIMITS } from '../src/core/limits.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import { MESSAGE } from './support/answered-gateway.ts'
import {
  errorAnswer,
  type FakeUpstream,
  nativeMessage,
  nativeStream,
  type Script,
  startFakeUpstream,
  textFrames,
} from './support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestKey } from './support/gateway.ts'
import { usd } from './support/ledger.ts'

const ANSWER = { ...MESSAGE, usage: { ...MESSAGE.usage, cache_creation_input_tokens: 3, cache_read_input_tokens: 2 } }
const USAGE = { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 3, cache_read_input_tokens: 2 }
const DASHBOARD_URL = 'https://cabinet.example/keys'
const DAY_MS = 86_400_000

type Fields = Record<string, unknown>
type Surface = Readonly<{ path: string; request: (more?: Fields) => Fields }>

const TURN = { role: 'user', content: 'Say hello' }
const MESSAGES: Surface = { path: '/v1/messages', request: (more) => ({ model: MODEL_ID, max_tokens: 64, messages: [TURN], ...more }) }
const CHAT: Surface = { path: '/v1/chat/completions', request: (more) => ({ model: MODEL_ID, messages: [TURN], ...more }) }
const RESPONSES: Surface = { path: '/v1/responses', request: (more) => ({ model: MODEL_ID, input: 'Say hello', ...more }) }
const SURFACES = [MESSAGES, CHAT, RESPONSES]

let upstream: FakeUpstream
let gateway: TestGateway
/** Its time limits are short. */
let hasty: TestGateway
/** It lets two requests a minute through. */
let strict: TestGateway
let script: Script | undefined
let ledgerFault: 'none' | 'throws' | 'unavailable' = 'none'

beforeAll(async () => {
  upstream = await startFakeUpstream({
    answer: (request) => {
      const isStream = (request.json() as { stream?: boolean }).stream === true
      return script ?? (isStream ? nativeStream(...textFrames('Hello', USAGE)) : nativeMessage(ANSWER))
    },
  })
  const upstreams = [upstream.url]
  gateway = await startTestGateway({ upstreams, wrapLedger: faulty, dashboardUrl: DASHBOARD_URL, limits: { dashboardPerMinute: 1_000 } })
  hasty = await startTestGateway({ upstreams, limits: { startTimeoutMs: 150, totalTimeoutMs: 150, dashboardPerMinute: 2 } })
  strict = await startTestGateway({ upstreams, limits: { requestsPerMinute: 2 } })
})

afterAll(async () => {
  await Promise.all([gateway.stop(), hasty.stop(), strict.stop()])
  upstream.stop()
})

/** A ledger that breaks on command. */
function faulty(ledger: Ledger): Ledger {
  const broken = <Value>(value: Value): Promise<Value> =>
    ledgerFault === 'throws' ? Promise.reject(new Error('a bug of the test')) : Promise.resolve(value)
  return {
    hold: (request) => (ledgerFault === 'none' ? ledger.hold(request) : broken('unavailable')),
    findKey: (hash) => (ledgerFault === 'none' ? ledger.findKey(hash) : broken('unavailable')),
    foreignHeads: () => ledger.foreignHeads(),
    keyBalanceOf: (keyId) => ledger.keyBalanceOf(keyId),
    keyBalanceNow: (keyId) => ledger.keyBalanceNow(keyId),
    findIdempotency: (keyId, headerHash) => ledger.findIdempotency(keyId, headerHash),
    findToken: (tokenHash) => ledger.findToken(tokenHash),
    isUsedUp: (keyId) => ledger.isUsedUp(keyId),
    checkpoint: (...args) => ledger.checkpoint(...args),
    settle: (settlement) => ledger.settle(settlement),
    void: (...args) => ledger.void(...args),
    operate: (operation) => ledger.operate(operation),
    holds: () => ledger.holds(),
    isWritable: () => ledger.isWritable(),
    mayAdmit: () => ledger.mayAdmit(),
    isSound: () => ledger.isSound(),
    onKeyChange: (listener) => ledger.onKeyChange(listener),
    onImport: (listener) => ledger.onImport(listener),
    close: () => ledger.close(),
  }
}

async function withScript<Value>(next: Script, run: () => Promise<Value>): Promise<Value> {
  script = next
  try {
    return await run()
  } finally {
    script = undefined
  }
}

async function withLedgerFault<Value>(fault: typeof ledgerFault, run: () => Promise<Value>): Promise<Value> {
  ledgerFault = fault
  try {
    return await run()
  } finally {
    ledgerFault = 'none'
  }
}

const get = (at: TestGateway, path: string, secret: string): Promise<Response> =>
  fetch(`${at.url}${path}`, { headers: { authorization: `Bearer ${secret}` } })

/** A request to each surface, plain and as a stream, and to the list of models if `models` is given. */
async function askAll(secret: string, more: Fields = {}, at = gateway): Promise<readonly (readonly [string, Response])[]> {
  const answers: (readonly [string, Response])[] = []
  for (const { path, request } of SURFACES)
    for (const stream of [false, true])
      answers.push([`${path} stream=${stream}`, await at.post(path, secret, request({ ...more, stream }))])
  return answers
}

type Row = Readonly<{ status: number; type: string; message: string; code?: string; isRetried: boolean }>

/** The whole answer is the row and nothing else: status, body, retry signals, ids. */
async function expectRow(name: string, response: Response, row: Row): Promise<void> {
  const { status, type, message, code, isRetried } = row
  const body = await response.json()
  expect([name, response.status, body]).toEqual([
    name,
    status,
    { type: 'error', error: { type, message, ...(code === undefined ? {} : { code }) } },
  ])
  expect([name, response.headers.get('x-should-retry')]).toEqual([name, isRetried ? null : 'false'])
  if (isRetried) expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
  else expect(response.headers.get('retry-after')).toBeNull()
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
}

async function expectRows(answers: readonly (readonly [string, Response])[], row: Row): Promise<void> {
  for (const [name, response] of answers) await expectRow(name, response, row)
}

const invalidRequest = (message: string): Row => ({ status: 400, type: 'invalid_request_error', message, isRetried: false })
const authentication = (message: string): Row => ({ status: 401, type: 'authentication_error', message, isRetried: false })
const server = (status: number, message: string): Row => ({ status, type: 'server_error', message, isRetried: true })
const UNAVAILABLE = 'Service temporarily unavailable; retry later'
const PROVIDER_ISSUE = 'Temporary provider issue on our side, retry in a minute'

/** The error table promises "not charged" for everything that stands in it. */
async function expectNothingCharged(keyId: string): Promise<void> {
  await gateway.idle()
  expect(gateway.spendOf(keyId)).toEqual({ spentPicos: 0n, heldPicos: 0n })
}

const makeKey = (id: string, more: TestKey = {}): Promise<string> => gateway.createKey({ id, ...more })

describe('endpoints', () => {
  test('POST /v1/chat/completions: 200 with the completion, its key in either header', async () => {
    const secret = await makeKey('key_chat')
    for (const headers of [{ authorization: `Bearer ${secret}` }, { 'x-api-key': secret }]) {
      const response = await gateway.post(CHAT.path, secret, CHAT.request(), { headers })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        id: expect.any(String),
        object: 'chat.completion',
        created: expect.any(Number),
        model: MODEL_ID,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 15, completion_tokens: 5, total_tokens: 20 },
      })
    }
  })

  test('POST /v1/chat/completions: 200 with chunks when `stream` is true, not native events', async () => {
    const response = await gateway.post(CHAT.path, await makeKey('key_chat_stream'), CHAT.request({ stream: true }))
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const text = await response.text()
    expect(text).toContain('"object":"chat.completion.chunk"')
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(text).not.toContain('event:')
  })

  test('POST /v1/messages: 200 with the message, its key in either header, with the version header or without', async () => {
    const secret = await makeKey('key_messages')
    const carriers: readonly Record<string, string>[] = [
      { 'x-api-key': secret, 'vendor-version': '2023-06-01' },
      { authorization: `Bearer ${secret}`, 'anthropic-version': '2023-06-01' },
      { 'x-api-key': secret },
    ]
    for (const headers of carriers) {
      const response = await gateway.post(MESSAGES.path, secret, MESSAGES.request(), { headers })
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ ...ANSWER, model: MODEL_ID })
    }
  })

  test('POST /v1/messages: 200 with native events when `stream` is true', async () => {
    const response = await gateway.post(MESSAGES.path, await makeKey('key_messages_stream'), MESSAGES.request({ stream: true }))
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    expect([...(await response.text()).matchAll(/^event: .*$/gm)].map(String)).toEqual(
      ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'].map(
        (type) => `event: ${type}`,
      ),
    )
  })

  test('POST /v1/responses: 200 with the response, or its events', async () => {
    const secret = await makeKey('key_responses')
    const whole = await gateway.post(RESPONSES.path, secret, RESPONSES.request())
    expect(whole.status).toBe(200)
    expect(await whole.json()).toMatchObject({ object: 'response', status: 'completed', model: MODEL_ID, usage: { total_tokens: 20 } })
    const stream = await gateway.post(RESPONSES.path, secret, RESPONSES.request({ stream: true }))
    expect(await stream.text()).toContain('event: response.completed\n')
  })

  test('GET /v1/dashboard/balance and the three billing paths: what is left, with Bearer only', async () => {
    const secret = await makeKey('key_balance', { balanceUsd: '12.5', limitUsd: '7.25' })
    const read = async (path: string): Promise<unknown> => (await get(gateway, path, secret)).json()
    expect(await read('/v1/dashboard/balance')).toEqual({
      object: 'balance',
      balance_usd: 7.25,
      expires_at: null,
      is_active: true,
      last_synced_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(await read('/v1/dashboard/billing/subscription')).toMatchObject({ hard_limit_usd: 7.25 })
    expect(await read('/v1/dashboard/billing/usage')).toMatchObject({ total_usage: 0 })
    expect(await read('/v1/dashboard/billing/credit_grants')).toMatchObject({ total_available: 7.25 })
    for (const path of ['balance', 'billing/subscription', 'billing/usage', 'billing/credit_grants']) {
      const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, { headers: { 'x-api-key': secret } })
      await expectRow(path, response, authentication('API key is required'))
    }
  })

  test('GET /v1/models: the models that are available to the key', async () => {
    const list = async (secret: string): Promise<unknown> => (await get(gateway, '/v1/models', secret)).json()
    expect(await list(await makeKey('key_models'))).toMatchObject({ object: 'list', data: [{ id: MODEL_ID, object: 'model' }] })
    expect(await list(await makeKey('key_no_models', { plan: 'small' }))).toMatchObject({ object: 'list', data: [] })
  })
})

describe('errors', () => {
  test('400 malformed request: invalid JSON, missing field, disallowed value, and the message names the problem', async () => {
    const secret = await makeKey('key_400')
    for (const { path, request } of SURFACES) {
      const refused = async (body: unknown): Promise<string> => {
        const response = await gateway.post(path, secret, body)
        const { error } = (await response.clone().json()) as { error: { message: string } }
        await expectRow(path, response, invalidRequest(error.message))
        return error.message
      }
      expect(await refused('{"model":')).toStartWith('Invalid JSON: ')
      expect(await refused(request({ model: undefined }))).toBe('model: Field required')
      expect(await refused(request({ temperature: 'hot' }))).toStartWith('temperature: ')
      expect(await refused(request({ stream: 'yes' }))).toStartWith('stream: ')
    }
    await expectNothingCharged('key_400')
  })

  test('400 `prompt is too long: N tokens > M maximum`', async () => {
    const secret = await makeKey('key_long')
    const message = 'prompt is too long: 210000 tokens > 200000 maximum'
    const tooLong = errorAnswer(400, { type: 'error', error: { type: 'invalid_request_error', message } })
    await expectRows(await withScript(tooLong, () => askAll(secret)), invalidRequest(message))
    await expectNothingCharged('key_long')
  })

  test('400 `Model X is not available on this API key`, unknown or outside the plan', async () => {
    const message = (model: string) => invalidRequest(`Model ${model} is not available on this API key`)
    await expectRows(await askAll(await makeKey('key_plan', { plan: 'small' })), message(MODEL_ID))
    await expectRows(await askAll(await makeKey('key_unknown_model'), { model: 'gpt-9' }), message('gpt-9'))
  })

  test('401 `Invalid API key` and `API key is required`', async () => {
    const invalid = authentication('Invalid API key')
    await expectRows(await askAll('sk-wrong'), invalid)
    await expectRow('models', await get(gateway, '/v1/models', 'sk-wrong'), invalid)
    const required = authentication('API key is required')
    for (const { path, request } of SURFACES) await expectRow(path, await gateway.post(path, '', request(), { headers: {} }), required)
    await expectRow('models', await fetch(`${gateway.url}/v1/models`), required)
  })

  test('401 `API key is disabled`, key or account', async () => {
    const byKey = await makeKey('key_disabled')
    const byAccount = await makeKey('key_inactive')
    await gateway.operate({ kind: 'setKeyActive', keyId: 'key_disabled', isActive: false, now: Date.now() })
    await gateway.operate({ kind: 'setAccountActive', accountId: 'acc_inactive', isActive: false, now: Date.now() })
    for (const secret of [byKey, byAccount]) {
      await expectRows(await askAll(secret), authentication('API key is disabled'))
      await expectRow('models', await get(gateway, '/v1/models', secret), authentication('API key is disabled'))
    }
  })

  test('403 `API key expired`', async () => {
    const expired: Row = { status: 403, type: 'permission_error', message: 'API key expired', isRetried: false }
    const secret = await makeKey('key_expired', { expiresAt: Date.now() - 1 })
    await expectRows(await askAll(secret), expired)
    for (const path of ['/v1/models', '/v1/dashboard/balance']) await expectRow(path, await get(gateway, path, secret), expired)
  })

  test('404 `The requested API endpoint does not exist`: a doubled or missing /v1, another method', async () => {
    const missing: Row = { status: 404, type: 'not_found_error', message: 'The requested API endpoint does not exist', isRetried: false }
    const secret = await makeKey('key_404')
    for (const path of [...SURFACES.map((surface) => surface.path), '/v1/models', '/v1/dashboard/balance']) {
      for (const wrong of [`/v1${path}`, path.slice(3), `${path}/`, `/api${path}`]) {
        await expectRow(wrong, await gateway.post(wrong, secret, {}), missing)
        await expectRow(wrong, await get(gateway, wrong, secret), missing)
      }
    }
    for (const { path } of SURFACES) await expectRow(path, await get(gateway, path, secret), missing)
    await expectRow('/v1/models', await gateway.post('/v1/models', secret, {}), missing)
  })

  test('413 `request body exceeds size limit`', async () => {
    const secret = await makeKey('key_413')
    const body = Buffer.alloc(LIMITS.bodyBytes + 1, 0x20)
    for (const { path } of SURFACES) {
      const tooLarge: Row = { status: 413, type: 'invalid_request_error', message: 'request body exceeds size limit', isRetried: false }
      await expectRow(path, await gateway.post(path, secret, body), tooLarge)
    }
    await expectNothingCharged('key_413')
  })

  test('429 `Insufficient balance on this API key. Top up: <dashboard_address>`: balance or spend limit used up', async () => {
    const row: Row = {
      status: 429,
      type: 'insufficient_balance',
      message: `Insufficient balance on this API key. Top up: ${DASHBOARD_URL}`,
      code: 'insufficient_quota',
      isRetried: false,
    }
    for (const [id, more] of [
      ['key_empty', { balanceUsd: '0.000001' }],
      ['key_limit', { limitUsd: '0.000001' }],
    ] as const) {
      const secret = await makeKey(id, more)
      expect((await gateway.post(MESSAGES.path, secret, MESSAGES.request())).status).toBe(200)
      await expectRows(await askAll(secret), row)
    }
  })

  test('429 `Rate limit exceeded; retry later`, and the balance is not charged', async () => {
    const row: Row = { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later', isRetried: true }
    const secret = await strict.createKey()
    for (let i = 0; i < 2; i++) await strict.post(MESSAGES.path, secret, MESSAGES.request())
    await strict.idle()
    const before = strict.spendOf('key_1')
    await expectRows(await askAll(secret, {}, strict), row)
    await expectRow('models', await get(strict, '/v1/models', secret), row)
    expect(strict.spendOf('key_1')).toEqual(before)
  })

  test('500 `Service temporarily unavailable; retry later` for a bug of ours, of which only one request dies', async () => {
    const secret = await makeKey('key_500')
    expect((await get(gateway, '/v1/models', secret)).status).toBe(200)
    await expectRows(await withLedgerFault('throws', () => askAll(secret)), server(500, UNAVAILABLE))
    const unseen = await makeKey('key_500_unseen')
    await expectRow('models', await withLedgerFault('throws', () => get(gateway, '/v1/models', unseen)), server(500, UNAVAILABLE))
    await expectNothingCharged('key_500')
    expect((await gateway.post(MESSAGES.path, secret, MESSAGES.request())).status).toBe(200)
  })

  test('502 `Service temporarily unavailable; retry later` for a broken upstream', async () => {
    const secret = await makeKey('key_502')
    for (const broken of [errorAnswer(500, 'oops'), errorAnswer(502, '<html>'), nativeMessage('not JSON'), [{ reset: true }] as Script])
      await expectRows(await withScript(broken, () => askAll(secret)), server(502, UNAVAILABLE))
    await expectNothingCharged('key_502')
  })

  test('503 `Temporary provider issue on our side, retry in a minute` for an overloaded upstream', async () => {
    const secret = await makeKey('key_503')
    for (const status of [429, 503, 529]) {
      const busy = errorAnswer(
        status,
        { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
        { 'retry-after': '3600' },
      )
      await expectRows(await withScript(busy, () => askAll(secret)), server(503, PROVIDER_ISSUE))
    }
    await expectNothingCharged('key_503')
  })

  test('503 `Service temporarily unavailable; retry later` for our own storage, never 401', async () => {
    const known = await makeKey('key_storage')
    expect((await get(gateway, '/v1/models', known)).status).toBe(200)
    await expectRows(await withLedgerFault('unavailable', () => askAll(known)), server(503, UNAVAILABLE))
    const unseen = await makeKey('key_storage_unseen')
    const row = server(503, UNAVAILABLE)
    await expectRows(await withLedgerFault('unavailable', () => askAll(unseen)), row)
    for (const path of ['/v1/models', '/v1/dashboard/balance'])
      await expectRow(path, await withLedgerFault('unavailable', () => get(gateway, path, unseen)), row)
    await expectNothingCharged('key_storage')
  })

  test('504 `Service timed out; retry later`', async () => {
    const secret = await hasty.createKey()
    await expectRows(await withScript([{ stall: true }], () => askAll(secret, {}, hasty)), server(504, 'Service timed out; retry later'))
    await hasty.idle()
    expect(hasty.spendOf('key_1')).toEqual({ spentPicos: 0n, heldPicos: 0n })
  })
})

describe('limits', () => {
  test('request body size: 32 MB', () => {
    expect(LIMITS.bodyBytes).toBe(32 * 1024 * 1024)
  })

  test('time to start answering: 6 minutes; total request duration: 10 minutes', () => {
    expect(LIMITS.startTimeoutMs).toBe(6 * 60_000)
    expect(LIMITS.totalTimeoutMs).toBe(10 * 60_000)
  })

  test('a stream that reaches the total duration ends in its format’s error event', async () => {
    const [start = '', block = '', delta = ''] = textFrames('Hello', USAGE)
    const endless = nativeStream(start, block, delta, { stall: true })
    const secret = await hasty.createKey()
    /** A stream that had not begun by then is refused by a status: it is asked for once more. */
    const endOf = async (path: string, body: unknown): Promise<string> => {
      for (;;) {
        const answer = await withScript(endless, () => hasty.post(path, secret, body))
        const text = await answer.text()
        if (answer.status !== 504) return text
      }
    }
    const error = '"error":{"type":"server_error","message":"Service timed out; retry later"'
    expect(await endOf(MESSAGES.path, MESSAGES.request({ stream: true }))).toEndWith(
      `event: error\ndata: {"type":"error",${error},"details":{"type":"timeout_error"}}}\n\n`,
    )
    expect(await endOf(CHAT.path, CHAT.request({ stream: true }))).toEndWith(`data: {${error}},"type":"error"}\nevent: error\n\n`)
    const failed = await endOf(RESPONSES.path, RESPONSES.request({ stream: true }))
    expect(failed).toMatch(/event: response\.failed\ndata: \{.*"error":\{.*Service timed out; retry later.*\}\n\n$/)
  })

  test('cache breakpoints: at most 4', async () => {
    expect(CACHE_BREAKPOINTS_MAX).toBe(4)
    const secret = await makeKey('key_breakpoints')
    const block = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }
    const statusWith = async (count: number): Promise<number> =>
      (await gateway.post(MESSAGES.path, secret, MESSAGES.request({ system: Array.from({ length: count }, () => block) }))).status
    expect([await statusWith(4), await statusWith(5)]).toEqual([200, 400])
  })

  test('key expiry: up to 90 days, extendable', async () => {
    expect(KEY_EXPIRY_DAYS_MAX).toBe(90)
    const now = Date.now()
    await makeKey('key_expiry', { expiresAt: now + DAY_MS })
    const extendTo = (days: number) =>
      gateway.ledger.operate({ kind: 'setKeyExpiry', keyId: 'key_expiry', expiresAt: now + days * DAY_MS, now })
    expect(await extendTo(90)).toEqual({ result: 'done' })
    expect(await extendTo(91)).toMatchObject({ result: 'refused' })
  })

  test('choices per chat completion: 1, n > 1 is ignored', async () => {
    const secret = await makeKey('key_choices')
    const { choices } = (await (await gateway.post(CHAT.path, secret, CHAT.request({ n: 3 }))).json()) as { choices: unknown[] }
    expect(choices).toHaveLength(1)
  })

  test('balance endpoints: limited per client IP, all of them together', async () => {
    const secret = await hasty.createKey()
    const statuses: number[] = []
    for (const path of ['balance', 'billing/subscription', 'billing/usage', 'billing/credit_grants'])
      statuses.push((await get(hasty, `/v1/dashboard/${path}`, secret)).status)
    expect(statuses).toEqual([200, 200, 429, 429])
    const row: Row = { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later', isRetried: true }
    await expectRow('balance', await get(hasty, '/v1/dashboard/balance', 'sk-wrong'), row)
    expect((await get(hasty, '/v1/models', secret)).status).toBe(200)
  })

  test('spend: the limit of a key and the balance of its account cap it, raised at once by the operator', async () => {
    const secret = await makeKey('key_capped', { limitUsd: '0.000001' })
    const status = async (): Promise<number> => (await gateway.post(MESSAGES.path, secret, MESSAGES.request())).status
    expect([await status(), await status()]).toEqual([200, 429])
    await gateway.operate({ kind: 'setKeyLimit', keyId: 'key_capped', limitPicos: usd('5'), now: Date.now() })
    expect(await status()).toBe(200)
  })
})
