/** A key whose money is used up is refused before its body is looked at, but for an answer that is there already. Rules: keys.md "Order of checks"; requests.md "Repeated requests". */

import { afterEach, expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { REFUSALS } from '../../src/core/refusal.ts'
import { MESSAGE } from '../support/answered-gateway.ts'
import { startBodyThread } from '../support/body-thread.ts'
import { type FakeUpstream, nativeMessage, type Script, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'
import { usd } from '../support/ledger.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { roomIn, until } from '../support/until.ts'

let ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ending.reverse()) await end()
  ending = []
})

type Started = Readonly<{ gateway: TestGateway; upstream: FakeUpstream; threads: () => number }>

async function start(options: TestGatewayOptions & Readonly<{ script?: () => Script }> = {}): Promise<Started> {
  const upstream = await startFakeUpstream({ answer: () => options.script?.() ?? nativeMessage(MESSAGE) })
  ending.push(() => upstream.stop())
  let started = 0
  const gateway = await startTestGateway({
    upstreams: [upstream.url],
    ...options,
    startBodyThread: () => {
      started++
      return startBodyThread()
    },
  })
  ending.push(() => gateway.stop())
  return { gateway, upstream, threads: () => started }
}

const BODY = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
const PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses']
/** One answer costs more. */
const LITTLE = '0.000001'
/** To the account of the first key. */
const credit = (gateway: TestGateway, amountUsd: string): Promise<void> =>
  gateway.operate({
    kind: 'credit',
    creditKind: 'correction',
    creditId: `top_${crypto.randomUUID().slice(0, 8)}`,
    accountId: 'acc_1',
    amountPicos: usd(amountUsd),
    ref: '',
    now: Date.now(),
  })
const named = (secret: string, name = 'once') => ({ headers: { 'x-api-key': secret, 'idempotency-key': name } })

async function told(response: Response): Promise<readonly [status: number, words: string]> {
  const { error } = (await response.json()) as { error: { type: string; message: string } }
  return [response.status, error.type === 'insufficient_balance' ? error.type : error.message]
}
const NO_MONEY = [429, 'insufficient_balance'] as const

/** A key with nothing left: of its balance, or of its limit. */
async function spentKey(gateway: TestGateway, of: 'balance' | 'limit' = 'balance', headers: Record<string, string> = {}): Promise<string> {
  const secret = await gateway.createKey(of === 'balance' ? { balanceUsd: LITTLE } : { limitUsd: LITTLE })
  expect((await gateway.post('/v1/messages', secret, BODY, { headers: { 'x-api-key': secret, ...headers } })).status).toBe(200)
  await gateway.idle()
  return secret
}

for (const of of ['balance', 'limit'] as const)
  test(`with its ${of} used up it is told so whatever its body is, and nothing of that is decoded or read`, async () => {
    const { gateway, threads, upstream } = await start()
    const secret = await spentKey(gateway, of)
    const calls = upstream.requests.length
    const bodies: readonly (readonly [unknown, Record<string, string>?])[] = [
      [BODY],
      ['{'],
      [{ model: 'nobody' }],
      [Buffer.alloc(3_000_000, '[')],
      [Buffer.from('no gzip'), { 'content-encoding': 'gzip' }],
      [BODY, { 'content-encoding': 'rot13' }],
    ]
    for (const path of PATHS)
      for (const [body, headers] of bodies)
        expect([path, ...(await told(await gateway.post(path, secret, body, { headers: { 'x-api-key': secret, ...headers } })))]).toEqual([
          path,
          ...NO_MONEY,
        ])
    expect([threads(), upstream.requests.length - calls, gateway.bodies.bytes]).toEqual([0, 0, 0])
  })

test('with a budget used up it is told so in the words of the contract, with the window and when it resets, and not to retry', async () => {
  const { gateway, upstream } = await start()
  const secret = await gateway.createKey({ id: 'key_capped', balanceUsd: '5' })
  const set = { kind: 'setBudget', accountId: 'acc_capped', keyId: 'key_capped', setBy: 'operator' } as const
  await roomIn(3_600_000, 15_000)
  const budget = (per: 'hour' | 'month', cap: string) => gateway.operate({ ...set, per, capPicos: usd(cap), now: Date.now() })
  await budget('hour', LITTLE)
  expect((await gateway.post('/v1/messages', secret, BODY)).status).toBe(200)
  await gateway.idle()
  const headersOf = ({ headers }: Response) => ['x-budget-window', 'x-budget-resets-at', 'x-should-retry'].map((name) => headers.get(name))
  for (const path of PATHS) {
    const before = Date.now()
    const refused = await gateway.post(path, secret, BODY)
    const [window, resetsAt, retry] = headersOf(refused)
    expect([path, refused.status, window, retry, refused.headers.get('retry-after')]).toEqual([path, 429, 'hour', 'false', null])
    expect([before, Date.now()].map((time) => new Date((Math.floor(time / 3_600_000) + 1) * 3_600_000).toISOString())).toContain(
      `${resetsAt}`,
    )
    const { error } = (await refused.json()) as { error: { type: string; message: string } }
    expect(error.type).toBe('insufficient_balance')
    expect(error.message).toBe(`${REFUSALS.insufficientBalance.message}${gateway.world.dashboardUrl()}`)
  }
  await budget('month', LITTLE)
  const month = `${new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + 1)).toISOString()}`
  expect(headersOf(await gateway.post('/v1/messages', secret, BODY))).toEqual(['month', month, 'false'])
  expect(upstream.requests).toHaveLength(1)
})

test('a body above the limit is 413 before that, with its length and in pieces', async () => {
  const { gateway } = await start()
  const secret = await spentKey(gateway)
  const body = Buffer.alloc(LIMITS.bodyBytes + 1, 0x20)
  for (const sent of [body, new Blob([body]).stream()])
    expect((await gateway.post('/v1/messages', secret, '', { body: sent })).status).toBe(413)
  const most = new Blob([body.subarray(1)]).stream()
  expect(await told(await gateway.post('/v1/messages', secret, '', { body: most }))).toEqual(NO_MONEY)
})

test('count_tokens needs no money', async () => {
  const { gateway } = await start({ script: () => nativeMessage({ input_tokens: 7 }) })
  const secret = await gateway.createKey({ balanceUsd: LITTLE })
  await credit(gateway, '-1')
  expect((await gateway.post('/v1/messages/count_tokens', secret, { model: MODEL_ID, messages: BODY.messages })).status).toBe(200)
  expect((await gateway.post('/v1/messages/count_tokens', secret, '{')).status).toBe(400)
})

test('money that is only held refuses nobody before the body was read', async () => {
  const gate = Promise.withResolvers<void>()
  const { gateway, upstream } = await start({ script: () => [{ when: gate.promise }, ...nativeMessage(MESSAGE)] })
  const secret = await gateway.createKey({ balanceUsd: '0.0001' })
  const running = gateway.post('/v1/messages', secret, BODY)
  await until(() => upstream.requests.length === 1, 'it runs')
  expect((await gateway.post('/v1/messages', secret, '{')).status).toBe(400)
  expect(await told(await gateway.post('/v1/messages', secret, BODY))).toEqual([429, 'Rate limit exceeded; retry later'])
  gate.resolve()
  expect((await running).status).toBe(200)
})

test('an answer that was paid is given again without money; an unknown header is not taken, and free for when there is some', async () => {
  const { gateway, upstream } = await start()
  const secret = await spentKey(gateway, 'balance', { 'idempotency-key': 'once' })
  const again = await gateway.post('/v1/messages', secret, BODY, named(secret))
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
  const other = await gateway.post('/v1/messages', secret, { ...BODY, max_tokens: 17 }, named(secret))
  expect([other.status, (await told(other))[1]]).toEqual([400, expect.stringContaining('Idempotency-Key')])
  for (const body of [BODY, '{'])
    expect(await told(await gateway.post('/v1/messages', secret, body, named(secret, 'new')))).toEqual(NO_MONEY)
  expect(await told(await gateway.post('/v1/messages', secret, BODY, named(secret, 'x'.repeat(256))))).toEqual(NO_MONEY)
  expect(upstream.requests).toHaveLength(1)
  await credit(gateway, '5')
  const first = await gateway.post('/v1/messages', secret, { ...BODY, max_tokens: 17 }, named(secret, 'new'))
  expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null])
})

postgresTest('on two nodes money that came on the one is there on the other, at once', async () => {
  const url = await postgres().createDatabase()
  const [a, b] = [await start({ postgres: { url } }), await start({ postgres: { url } })]
  const secret = await spentKey(a.gateway)
  for (const { gateway } of [a, b]) expect(await told(await gateway.post('/v1/messages', secret, BODY))).toEqual(NO_MONEY)
  for (const { gateway } of [a, b]) expect(await told(await gateway.post('/v1/messages', secret, '{'))).toEqual(NO_MONEY)
  await credit(a.gateway, '5')
  expect((await b.gateway.post('/v1/messages', secret, BODY)).status).toBe(200)
})
