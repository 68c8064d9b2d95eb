/**
 * Who may spend, in which order that is decided, and how much. Rules: contract.md "Authentication"; keys.md "Credentials", "Order of checks"; money.md "Holds".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { picos } from '../../src/core/money.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type AnsweredGateway, MESSAGE, startAnsweredGateway } from '../support/answered-gateway.ts'
import { nativeMessage, type Script } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { addKey, sha256, usd } from '../support/ledger.ts'
import { rawRequest, sendRaw } from '../support/raw-client.ts'
import { until } from '../support/until.ts'

const BODY = { model: MODEL_ID, max_tokens: 1_000, messages: [{ role: 'user', content: 'a canary prompt' }] }
const MODEL_PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens']
const DASHBOARD_PATHS = ['balance', 'billing/subscription', 'billing/usage', 'billing/credit_grants'].map((path) => `/v1/dashboard/${path}`)

let upstream: AnsweredGateway['upstream']
let gateway: AnsweredGateway['gateway']
let stop: AnsweredGateway['stop']
/** One request a minute and one at a time. */
let strict: TestGateway
let script: Script = nativeMessage(MESSAGE)
let lookUps = 0

beforeAll(async () => {
  ;({ upstream, gateway, stop } = await startAnsweredGateway({
    wrapLedger: counting,
    limits: { dashboardPerMinute: 100_000 },
    script: () => script,
  }))
  strict = await startTestGateway({ upstreams: [upstream.url], limits: { requestsPerMinute: 1 } })
})

afterAll(async () => {
  await strict.stop()
  await stop()
})

const counting = (ledger: Ledger): Ledger =>
  new Proxy(ledger, {
    get(target, name) {
      if (name === 'findKey') lookUps++
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

type Refused = Readonly<{ status: number; type: string | undefined; message: string | undefined }>

async function readRefusal(response: Response): Promise<Refused> {
  const json = (await response.json()) as { error?: { type: string; message: string } }
  return { status: response.status, type: json.error?.type, message: json.error?.message }
}

const post = async (secret: string, body: unknown = BODY, path = '/v1/messages', at = gateway): Promise<Refused> =>
  readRefusal(await at.post(path, secret, body))

const OK: Refused = { status: 200, type: undefined, message: undefined }
const REQUIRED: Refused = { status: 401, type: 'authentication_error', message: 'API key is required' }
const INVALID: Refused = { status: 401, type: 'authentication_error', message: 'Invalid API key' }
const DISABLED: Refused = { status: 401, type: 'authentication_error', message: 'API key is disabled' }
const EXPIRED: Refused = { status: 403, type: 'permission_error', message: 'API key expired' }
const LIMITED: Refused = { status: 429, type: 'rate_limit_error', message: 'Rate limit exceeded; retry later' }
const EXHAUSTED: Refused = {
  status: 429,
  type: 'insufficient_balance',
  message: 'Insufficient balance on this API key. Top up: https://cabinet.example/keys',
}

/** So many, none of which is answered by the upstream before all are there or refused: however slow the machine is, they are at once. */
async function allAtOnce<Answer>(count: number, ask: () => Promise<Answer>, open: () => void): Promise<readonly Answer[]> {
  const before = upstream.requests.length
  let refused = 0
  const answers = Array.from({ length: count }, () => ask().finally(() => refused++))
  await until(() => refused + upstream.requests.length - before >= count, 'all are there or refused').finally(open)
  return await Promise.all(answers)
}

const newSecret = (): string => makeSecret(() => randomBytes(64))

test('the key is read from one header, spelled right, on every route, as it stands on the wire', async () => {
  const secret = await gateway.createKey({ id: 'key_headers' })
  const other = await gateway.createKey({ id: 'key_headers_other' })
  const typo = `${secret.slice(0, 20)}${secret.charAt(20) === 'a' ? 'b' : 'a'}${secret.slice(21)}`
  const cases: [string[], 'ok' | 'required' | 'invalid'][] = [
    [[`x-api-key: ${secret}`], 'ok'],
    [[`X-API-Key:${secret}   `], 'ok'],
    [[`Authorization: Bearer ${secret}`], 'ok'],
    [[`authorization: bearer ${secret}`], 'ok'],
    [[`AUTHORIZATION: BEARER ${secret}`], 'ok'],
    [['x-api-key:', `Authorization: Bearer ${secret}`], 'ok'],
    [[], 'required'],
    [['x-api-key:'], 'required'],
    [['Authorization:'], 'required'],
    [['Authorization: Bearer'], 'required'],
    [['Authorization: Bearer '], 'required'],
    [['Authorization: Basic dXNlcjpwYXNz'], 'required'],
    [[`Authorization: ${secret}`], 'required'],
    [[`Cookie: x-api-key=${secret}`], 'required'],
    [[`api-key: ${secret}`], 'required'],
    [[`x-api-key: ${secret}`, `Authorization: Bearer ${secret}`], 'invalid'],
    [[`x-api-key: ${secret}`, `Authorization: Bearer ${other}`], 'invalid'],
    [[`Authorization: Bearer  ${secret}`], 'invalid'],
    [[`Authorization: Bearer "${secret}"`], 'invalid'],
    [[`x-api-key: "${secret}"`], 'invalid'],
    [[`x-api-key: '${secret}'`], 'invalid'],
    [[`x-api-key: Bearer ${secret}`], 'invalid'],
    [[`Authorization: Bearer ${secret} x`], 'invalid'],
    [[`Authorization: Bearer ${secret}`, `Authorization: Bearer ${secret}`], 'invalid'],
    [[`x-api-key: ${secret}`, `x-api-key: ${secret}`], 'invalid'],
    [[`x-api-key: ${typo}`], 'invalid'],
    [[`x-api-key: ${secret.toLowerCase()}`], 'invalid'],
    [['Authorization: Bearer \xe9\xff'], 'invalid'],
    [[`x-api-key: ${newSecret()}`], 'invalid'],
  ]
  const messageOf = { ok: undefined, required: REQUIRED.message, invalid: INVALID.message }
  for (const [headers, expected] of cases) {
    for (const path of [...MODEL_PATHS, '/v1/models', ...DASHBOARD_PATHS]) {
      const isModelRoute = MODEL_PATHS.includes(path)
      const json = JSON.stringify(path === '/v1/responses' ? { model: MODEL_ID, input: 'Hi' } : BODY)
      const lines = ['Host: a', ...headers, ...(isModelRoute ? [`Content-Length: ${json.length}`] : [])]
      const head = `${isModelRoute ? 'POST' : 'GET'} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
      const response = await sendRaw(gateway.url, [Buffer.from(head, 'latin1'), isModelRoute ? json : ''])
      const { error } = response.json() as { error?: { message: string } }
      // The dashboard does not look at x-api-key, except that it may not stand beside a Bearer key.
      const isBlind = path.startsWith('/v1/dashboard') && headers.length > 0 && headers.every((line) => /^x-api-key/i.test(line))
      const due = isBlind ? 'required' : expected
      expect([headers, path, response.status, error?.message]).toEqual([headers, path, due === 'ok' ? 200 : 401, messageOf[due]])
    }
  }
})

test('a typo is answered without a look-up, and a known key with one', async () => {
  const secret = await gateway.createKey({ id: 'key_look_ups' })
  const before = lookUps
  for (const wrong of [`${secret.slice(0, -1)}!`, 'sk-', 'sk-ant-api03-abc', `${secret}x`]) expect(await post(wrong)).toEqual(INVALID)
  expect(lookUps).toBe(before)
  for (let i = 0; i < 3; i++) expect(await post(secret)).toEqual(OK)
  expect(lookUps).toBe(before + 1)
})

test('the order of checks is the same on every route: path, key, rate, money that is used up, body, model', async () => {
  const broken = '{"model":'
  const unknownModel = (path: string) => (path === '/v1/responses' ? { model: 'gpt-9', input: 'Hi' } : { ...BODY, model: 'gpt-9' })
  const poor = await addKey(gateway.ledger, 'key_order_poor', { now: Date.now() })
  const rich = await gateway.createKey({ id: 'key_order_rich' })
  const expired = await addKey(gateway.ledger, 'key_order_expired', { now: Date.now(), expiresAt: Date.now() - 1 })
  const both = await addKey(gateway.ledger, 'key_order_both', { now: Date.now(), expiresAt: Date.now() - 1 })
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_order_both', isActive: false, now: Date.now() })
  for (const path of MODEL_PATHS) {
    expect([path, (await post('sk-wrong', broken, `/v1${path}`)).status]).toEqual([path, 404])
    expect([path, await post('sk-wrong', broken, path)]).toEqual([path, INVALID])
    expect([path, await post(both, broken, path)]).toEqual([path, DISABLED])
    expect([path, await post(expired, broken, path)]).toEqual([path, EXPIRED])
    const isFree = path === '/v1/messages/count_tokens'
    if (!isFree)
      for (const body of [broken, unknownModel(path), path === '/v1/responses' ? { model: MODEL_ID, input: 'Hi' } : BODY])
        expect([path, await post(poor, body, path)]).toEqual([path, EXHAUSTED])
    const reader = isFree ? poor : rich
    expect([path, await post(reader, broken, path)]).toMatchObject([path, { status: 400, type: 'invalid_request_error' }])
    expect([path, await post(reader, unknownModel(path), path)]).toMatchObject([
      path,
      { status: 400, message: 'Model gpt-9 is not available on this API key' },
    ])
  }
  // A key that has used its minute up is told so before its body is read, and after its state is looked at.
  const busy = await strict.createKey({ id: 'key_busy' })
  expect(await post(busy, BODY, '/v1/messages', strict)).toEqual(OK)
  for (const path of MODEL_PATHS) {
    expect([path, await post(busy, broken, path, strict)]).toEqual([path, LIMITED])
    expect([path, await post(busy, Buffer.alloc(LIMITS.bodyBytes + 1), path, strict)]).toEqual([path, LIMITED])
    expect([path, await post(busy, broken, `${path}x`, strict)]).toMatchObject([path, { status: 404 }])
  }
  await strict.operate({ kind: 'setKeyActive', keyId: 'key_busy', isActive: false, now: Date.now() })
  for (const path of MODEL_PATHS) expect([path, await post(busy, broken, path, strict)]).toEqual([path, DISABLED])
})

test('a disabled key sees its balance and nothing else; enabled again it works at once', async () => {
  const secret = await gateway.createKey({ id: 'key_switched' })
  const get = async (path: string): Promise<number> =>
    (await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${secret}` } })).status
  expect(await post(secret)).toEqual(OK)
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_switched', isActive: false, now: Date.now() })
  expect(await post(secret)).toEqual(DISABLED)
  expect(await Promise.all(DASHBOARD_PATHS.map(get))).toEqual([200, 401, 401, 401])
  await gateway.operate({ kind: 'setKeyActive', keyId: 'key_switched', isActive: true, now: Date.now() })
  expect(await post(secret)).toEqual(OK)
  await gateway.operate({ kind: 'setAccountActive', accountId: 'acc_switched', isActive: false, now: Date.now() })
  expect(await post(secret)).toEqual(DISABLED)
  await gateway.operate({ kind: 'setKeyExpiry', keyId: 'key_switched', expiresAt: Date.now() - 1, now: Date.now() })
  await gateway.operate({ kind: 'setAccountActive', accountId: 'acc_switched', isActive: true, now: Date.now() })
  expect(await post(secret)).toEqual(EXPIRED)
  expect(await Promise.all(DASHBOARD_PATHS.map(get))).toEqual([403, 403, 403, 403])
})

test('a rotated key has two secrets until the overlap ends, and one after it', async () => {
  const [first, second, third] = [await gateway.createKey({ id: 'key_rotated' }), newSecret(), newSecret()]
  const rotate = (secret: string, oldValidUntil: number): Promise<void> =>
    gateway.operate({
      kind: 'rotateKey',
      keyId: 'key_rotated',
      secretHash: sha256(secret),
      display: displayOf(secret),
      oldValidUntil,
      endsPromised: true,
      now: Date.now(),
    })
  expect(await post(second)).toEqual(INVALID)
  await rotate(second, Date.now() + 60_000)
  expect([await post(first), await post(second)]).toEqual([OK, OK])
  await rotate(third, Date.now())
  expect([await post(second), await post(third)]).toEqual([INVALID, OK])
})

test('a key that was unknown a moment ago works as soon as it is made', async () => {
  const secret = newSecret()
  expect(await post(secret)).toEqual(INVALID)
  await addKey(gateway.ledger, 'key_made_late', { secretHash: sha256(secret), balanceUsd: '1', now: Date.now() })
  expect(await post(secret)).toEqual(OK)
})

test('a balance of 0 or below is exhausted, one picodollar is enough, and a top-up counts at once', async () => {
  const zero = await addKey(gateway.ledger, 'key_zero', { now: Date.now() })
  expect(await post(zero)).toEqual(EXHAUSTED)
  const topUp = (keyId: string, amountPicos: bigint): Promise<void> =>
    gateway.operate({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: `top_${randomBytes(4).toString('hex')}`,
      accountId: keyId.replace('key_', 'acc_'),
      amountPicos: picos(amountPicos),
      ref: '',
      now: Date.now(),
    })
  await topUp('key_zero', 1n)
  expect(await post(zero)).toEqual(OK)
  expect(await post(zero)).toEqual(EXHAUSTED)
  // The answer cost 105,000,000 picodollars and the account is one picodollar short of nothing owed.
  await topUp('key_zero', 104_999_999n - 1n)
  expect(await post(zero)).toEqual(EXHAUSTED)
  await topUp('key_zero', 1n)
  expect(await post(zero)).toEqual(EXHAUSTED)
  await topUp('key_zero', 1n)
  expect(await post(zero)).toEqual(OK)
})

test('the address to top up at is the operator’s, whatever host the client names', async () => {
  const empty = await addKey(gateway.ledger, 'key_host', { now: Date.now() })
  const json = JSON.stringify(BODY)
  const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example', 'x-api-key': empty }
  const response = await sendRaw(gateway.url, [rawRequest('POST', '/v1/messages', headers, json)])
  expect(response.json()).toMatchObject({ error: { message: EXHAUSTED.message } })
})

test('a spend limit of 0, or one that is reached, is exhausted on a rich account; raised, it counts at once', async () => {
  const secret = await gateway.createKey({ id: 'key_capped', limitUsd: '0' })
  const setLimit = (limit: string | null): Promise<void> =>
    gateway.operate({ kind: 'setKeyLimit', keyId: 'key_capped', limitPicos: limit === null ? null : usd(limit), now: Date.now() })
  expect(await post(secret)).toEqual(EXHAUSTED)
  await setLimit('0.000105')
  expect([await post(secret), await post(secret)]).toEqual([OK, EXHAUSTED])
  await setLimit('0.000106')
  expect(await post(secret)).toEqual(OK)
  await setLimit(null)
  expect(await post(secret)).toEqual(OK)
})

test('a hundred requests at once never overdraw: what the balance cannot hold is told to come back', async () => {
  for (const [id, more] of [
    ['key_crowd', { balanceUsd: '0.15' }],
    ['key_crowd_limit', { limitUsd: '0.15' }],
  ] as const) {
    const secret = await gateway.createKey({ id, ...more })
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    script = [{ when: gate }, ...nativeMessage(MESSAGE)]
    const answers = await allAtOnce(100, () => gateway.post('/v1/messages', secret, BODY), open)
    script = nativeMessage(MESSAGE)
    const admitted = answers.filter(({ status }) => status === 200).length
    // A request holds a little more than 0.015 USD.
    expect([id, admitted >= 9 && admitted <= 10]).toEqual([id, true])
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(await readRefusal(answer)).toEqual(LIMITED)
    }
    await gateway.idle()
    expect(await post(secret)).toEqual(OK)
  }
  expect(gateway.verify()).toEqual([])
})

test('a key’s requests at once are bounded, and an ended one makes room', async () => {
  await using narrow = await startTestGateway({ upstreams: [upstream.url], limits: { concurrentRequests: 2 } })
  const [secret, other] = [await narrow.createKey(), await narrow.createKey()]
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  script = [{ when: gate }, ...nativeMessage(MESSAGE)]
  const answers = await allAtOnce(6, () => post(secret, BODY, '/v1/messages', narrow), open)
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429, 429])
  script = nativeMessage(MESSAGE)
  expect(await post(secret, BODY, '/v1/messages', narrow)).toEqual(OK)
  expect(await post(other, BODY, '/v1/messages', narrow)).toEqual(OK)
  for (let i = 0; i < 5; i++) expect((await post(secret, '{', '/v1/messages', narrow)).status).toBe(400)
  expect(await post(secret, BODY, '/v1/messages', narrow)).toEqual(OK)
})

test('a flood of unknown keys ends in 429 for unknown keys, and good ones behind the same address go on', async () => {
  await using flooded = await startTestGateway({ upstreams: [upstream.url] })
  const secret = await flooded.createKey()
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => (await post(newSecret(), BODY, '/v1/messages', flooded)).status),
  )
  expect(new Set(statuses)).toEqual(new Set([401, 429]))
  expect(await post(newSecret(), BODY, '/v1/messages', flooded)).toEqual(LIMITED)
  expect(await post(secret, BODY, '/v1/messages', flooded)).toEqual(OK)
  expect(await post('sk-typo', BODY, '/v1/messages', flooded)).toEqual(INVALID)
})

test('a ledger that cannot commit is 503 for good keys, 401 for none, and only while it cannot', async () => {
  let isWritable = true
  await using broken = await startTestGateway({
    upstreams: [upstream.url],
    wrapLedger: (ledger) =>
      new Proxy(ledger, {
        get(target, name) {
          const member: unknown = name === 'isWritable' ? () => isWritable : Reflect.get(target, name)
          return typeof member === 'function' ? member.bind(target) : member
        },
      }),
  })
  const secret = await broken.createKey()
  isWritable = false
  const response = await broken.post('/v1/messages', secret, BODY)
  expect(response.headers.get('retry-after')).toMatch(/^([1-9]|[12]\d|30)$/)
  expect(await readRefusal(response)).toEqual({
    status: 503,
    type: 'server_error',
    message: 'Service temporarily unavailable; retry later',
  })
  expect((await fetch(`${broken.url}/readyz`)).status).toBe(503)
  isWritable = true
  expect(await post(secret, BODY, '/v1/messages', broken)).toEqual(OK)
})

test('the log has a line for each of these and none of their keys or prompts', () => {
  const log = JSON.stringify(gateway.logLines())
  expect(gateway.logLines().length).toBeGreaterThan(100)
  expect(log).not.toContain('canary')
  expect(log.match(/sk-[0-9A-Za-z]{8}/)).toBeNull()
})
