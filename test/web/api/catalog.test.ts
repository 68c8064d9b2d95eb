/** The catalogue is shown as the file writes it, and what a reload would change is seen before it is done. Rules: pages.md "Catalog"; operator.md "Reload". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { differences } from '../../../src/config/difference.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { priceList } from '../../../src/config/prices.ts'
import { type Picos, picos, ZERO } from '../../../src/core/money.ts'
import { apiClient } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'

type ReadConfig = NonNullable<NonNullable<Parameters<typeof startTestGateway>[0]>['readConfig']>

let read: ReadConfig = (inForce) => inForce
/** What the gateway was asked to reload. */
let reloads = 0
let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  gateway = await startTestGateway({
    upstreams: ['http://127.0.0.1:9'],
    readConfig: (inForce) => read(inForce),
    askReload: () => reloads++,
  })
  operator = await signInOperator(gateway)
})
afterAll(() => gateway.stop())

const ask = async (path: string): Promise<unknown> => (await operator.get(`/console/api/${path}`)).json()

test('models have their rates as the file writes them, who serves them, and the limits their names in it', async () => {
  expect(await ask('catalog')).toMatchObject({
    file: null,
    models: [
      {
        id: 'sonnet',
        input_usd: '3',
        output_usd: '15',
        cache_read: '0.1',
        cache_write: '1.25',
        cache_write_1h: '2',
        upstreams: [{ name: 'upstream-0', model: 'vendor-sonnet-1' }],
      },
    ],
    plans: [{ name: 'default', models: ['*'] }, { name: 'small' }],
    limits: expect.arrayContaining([{ name: 'body_bytes', value: 33_554_432 }]),
  })
})

test('a plan has the most that a request may cost, and a change of it is told', async () => {
  const capped = (usd: bigint) => new Map([['default', { name: 'default', models: ['*'], maxRequestPicos: picos(usd) }]])
  read = (inForce) => ({ ...inForce, catalog: { ...inForce.catalog, plans: capped(50_000_000_000n) } })
  expect(await ask('catalog')).toMatchObject({ plans: [{ name: 'default', max_request_usd: null }, { name: 'small' }] })
  const { changes } = (await ask('catalog/reload')) as { changes: object[] }
  expect(changes).toContainEqual({ path: 'plans.default.max_request_usd', before: null, after: '0.05' })
  const before = gateway.world.catalog()
  try {
    gateway.reload({ catalog: { ...before, plans: capped(20_000_000_000n) } })
    expect(await ask('catalog')).toMatchObject({ plans: [{ name: 'default', max_request_usd: '0.02' }] })
  } finally {
    gateway.reload({ catalog: before })
  }
})

test('a plan has its rates, and a change of them is told', async () => {
  const limits = { requestsPerMinute: 60, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrentRequests: 4 }
  const rated = new Map([['default', { name: 'default', models: ['*'], rates: limits }]])
  read = (inForce) => ({ ...inForce, catalog: { ...inForce.catalog, plans: rated } })
  expect(await ask('catalog')).toMatchObject({ plans: [{ name: 'default', rates: null }, { name: 'small' }] })
  const { changes } = (await ask('catalog/reload')) as { changes: object[] }
  expect(changes).toContainEqual({ path: 'plans.default.requests_per_minute', before: null, after: '60' })
  const before = gateway.world.catalog()
  try {
    gateway.reload({ catalog: { ...before, plans: rated } })
    expect(await ask('catalog')).toMatchObject({ plans: [{ name: 'default', rates: { requests_per_minute: 60, concurrent_requests: 4 } }] })
  } finally {
    gateway.reload({ catalog: before })
  }
})

test('a file that says the same changes nothing', async () => {
  read = (inForce) => ({ ...inForce })
  const nothing = { file: null, problems: [], changes: [], things: [], needs_restart: [], without_effect: [], digest: null }
  expect(await ask('catalog/reload')).toEqual(nothing)
  expect(await press('0'.repeat(64))).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('nothing to reload') } },
  })
})

type Preview = { digest: string | null; things: { kind: string; name: string; state: string; changes: object[] }[] }
const preview = async (): Promise<Preview> => (await ask('catalog/reload')) as Preview
const press = async (digest: string | null, who = operator, reason = '') => {
  const answer = await who.post('/console/api/catalog/reload', { digest, reason })
  return { status: answer.status, body: (await answer.json()) as unknown }
}
const lines = async (): Promise<readonly object[]> => ((await ask('audit?action=reload')) as { data: object[] }).data

/** The catalogue in force with its one model changed, and perhaps another one. */
const changedModel =
  (by: bigint, more: readonly string[] = []): ReadConfig =>
  (inForce) => {
    const [model] = inForce.catalog.models.values()
    if (model === undefined) throw new Error('one model is needed')
    const input = picos((model.rates.input * by) / 2n)
    const dearer = {
      ...model,
      rates: { ...model.rates, input },
      contextWindow: 100_000,
      levels: [{ abovePromptTokens: 50_000, rates: model.rates }],
    }
    const models = new Map([[model.id, dearer], ...more.map((id) => [id, { ...model, id }] as const)])
    return { ...inForce, catalog: { ...inForce.catalog, models } }
  }

test('what a reload would change stands by model, with prices as customers pay them and by how much they rise', async () => {
  read = changedModel(3n, ['opus-4.5'])
  const { things } = await preview()
  expect(things.map(({ kind, name, state }) => [kind, name, state])).toEqual([
    ['model', 'opus-4.5', 'added'],
    ['model', 'sonnet', 'changed'],
  ])
  const level = (price: string, usd: string) => ({
    ...{ setting: `levels.above_50000.${price}`, before: null, after: usd },
    ...{ unit: 'usd_a_million_tokens', percent: null },
  })
  // The multiples of the input price are others in the file, and what customers pay for the cache is the same.
  expect(things[1]?.changes).toEqual([
    { setting: 'input', before: '3', after: '4.5', unit: 'usd_a_million_tokens', percent: 50 },
    level('input', '3'),
    level('output', '15'),
    level('cache_read', '0.3'),
    level('cache_write', '3.75'),
    level('cache_write_1h', '6'),
    { setting: 'context_window', before: '200000', after: '100000', unit: null, percent: null },
  ])
  expect(things[0]?.changes).toContainEqual({ setting: 'input', before: null, after: '3', unit: 'usd_a_million_tokens', percent: null })
})

test('a model, a plan and an upstream that are gone are removed, whatever their names begin with', async () => {
  read = (inForce) => ({ ...inForce, upstreams: [], catalog: { models: new Map(), plans: new Map() } })
  expect((await preview()).things.map(({ kind, name, state }) => [kind, name, state])).toEqual([
    ['model', 'sonnet', 'removed'],
    ['plan', 'default', 'removed'],
    ['plan', 'small', 'removed'],
    ['upstream', 'upstream-0', 'removed'],
  ])
})

test('the button does what was looked at: another file, another look or none is refused, and nothing is reloaded', async () => {
  read = changedModel(3n)
  const before = [reloads, (await lines()).length]
  const { digest } = await preview()
  for (const wrong of [null, '', 'x'.repeat(101)]) expect((await press(wrong)).status).toBeGreaterThanOrEqual(400)
  read = changedModel(4n)
  expect(await press(digest)).toMatchObject({
    status: 409,
    body: { error: { message: expect.stringContaining('has changed since you looked') } },
  })
  read = () => ({ file: 'tollgate.toml', problems: [{ path: 'models', message: 'gone' }] })
  expect(await press(digest)).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('mistakes') } } })
  expect([reloads, (await lines()).length]).toEqual(before)
})

test('two operators who press at once reload once, with one line of the audit log; who comes when it is in force is told so', async () => {
  read = changedModel(3n)
  const other = await signInOperator(gateway, 'two@example.com')
  const { digest } = await preview()
  const [count, written] = [reloads, (await lines()).length]
  const pressed = await Promise.all([press(digest, operator, 'dearer input'), press(digest, other)])
  expect(pressed.map(({ status }) => status)).toEqual([200, 200])
  expect(pressed.map(({ body }) => (body as { already: boolean }).already).toSorted()).toEqual([false, true])
  expect(reloads).toBe(count + 1)
  const now = await lines()
  expect(now.length).toBe(written + 1)
  const inForce = gateway.world.catalog()
  try {
    const model = inForce.models.get('sonnet')
    if (model === undefined) throw new Error('one model is needed')
    gateway.reload({ catalog: { ...inForce, models: new Map() } })
    // What is in force is no longer what was looked at: the same change to the file is another reload.
    expect(await press(digest)).toMatchObject({ status: 409 })
  } finally {
    gateway.reload({ catalog: inForce })
  }
})

test('console and API that ask at once reload once, with one line: a look of one is good for the other', async () => {
  read = changedModel(5n)
  const { digest } = await preview()
  const api = await apiClient(gateway, { name: 'shop' })
  expect((await api.get('/reload')).body).toMatchObject({ digest })
  const [count, written] = [reloads, (await lines()).length]
  const over = (body: object, once?: string) => api.post('/reload', body, once)
  const answers = await Promise.all([over({ digest }, 'one'), press(digest), over({}, 'two'), over({ digest })])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect([reloads, (await lines()).length]).toEqual([count + 1, written + 1])
  // Each is a write under its key, also the one that found the reload under way.
  read = changedModel(6n)
  for (const repeated of [over({ digest }, 'one'), over({}, 'two')]) expect((await repeated).status).toBe(200)
  expect([reloads, (await lines()).length]).toEqual([count + 1, written + 1])
})

test('who presses while another is refused behind its line is refused as well, and not told that it is under way', async () => {
  read = changedModel(7n)
  const { digest } = await preview()
  const count = reloads
  let looks = 0
  read = (inForce) => changedModel(looks++ === 0 ? 7n : 8n)(inForce)
  const pressed = await Promise.all([press(digest), press(digest)])
  expect(pressed.map(({ status }) => status)).toEqual([409, 409])
  expect(reloads).toBe(count)
})

test('a file that is written while the audit log is written is not taken over, and the log says that nothing came of it', async () => {
  read = changedModel(3n)
  const { digest } = await preview()
  gateway.reload({})
  const count = reloads
  let looks = 0
  read = (inForce) => changedModel(looks++ === 0 ? 3n : 4n)(inForce)
  expect(await press(digest)).toMatchObject({ status: 409 })
  expect([reloads, looks]).toEqual([count, 2])
  const refusals = ((await ask('audit?action=refuseReload')) as { data: object[] }).data
  expect(refusals[0]).toMatchObject({ action: 'refuseReload', target: 'configuration', after: { changes: expect.any(Number) } })
  // It is under way only where it was asked for: back as it was looked at, it is reloaded.
  read = changedModel(3n)
  expect(await press(digest)).toMatchObject({ status: 200, body: { already: false } })
  expect(reloads).toBe(count + 1)
})

test('two secrets that differ are two changes, and the digest tells neither', async () => {
  const withSecret =
    (secret: string): ReadConfig =>
    (inForce) => {
      const [upstream] = inForce.upstreams
      if (upstream === undefined) throw new Error('one upstream is needed')
      return { ...inForce, upstreams: [upstream, { ...upstream, name: 'new', apiKey: secret }] }
    }
  read = withSecret('one')
  const { digest } = await preview()
  read = withSecret('two')
  expect((await preview()).digest).not.toBe(digest)
  expect(await press(digest)).toMatchObject({ status: 409 })
})

test('each difference has its name, what holds and what would; what needs a restart is said and is no change', async () => {
  read = (inForce) => {
    const [upstream] = inForce.upstreams
    if (upstream === undefined) throw new Error('one upstream is needed')
    return {
      ...inForce,
      server: { ...inForce.server, port: 4_000, corsOrigins: ['https://chat.example'] },
      limits: { ...inForce.limits, requestsPerMinute: 7 },
      upstreams: [
        { ...upstream, weight: 5, apiKey: 'another-secret' },
        { ...upstream, name: 'new', apiKey: 'new-secret' },
      ],
    }
  }
  const response = await operator.get('/console/api/catalog/reload')
  const text = await response.text()
  expect(text).not.toMatch(/another-secret|new-secret|upstream-secret/)
  const preview = JSON.parse(text) as { changes: { path: string }[]; needs_restart: string[] }
  expect(preview.needs_restart).toEqual(['server.port', 'upstreams[0].api_key_env'])
  expect(preview.changes).toContainEqual({ path: 'limits.requests_per_minute', before: '100000', after: '7' } as never)
  expect(preview.changes).toContainEqual({ path: 'server.cors_origins', before: '*', after: 'https://chat.example' } as never)
  expect(preview.changes).toContainEqual({ path: 'upstreams.upstream-0.weight', before: '1', after: '5' } as never)
  expect(preview.changes).toContainEqual({ path: 'upstreams.new.api_key', before: null, after: 'a secret' } as never)
  expect(preview.changes.map(({ path }) => path)).not.toContain('server.port')
  expect(gateway.world.limits().requestsPerMinute).toBe(100_000)
})

test('mistakes of the file are named, and nothing else is said of it', async () => {
  read = () => ({ file: '/etc/tollgate.toml', problems: [{ path: 'models[0].input', message: 'expected a decimal' }] })
  expect(await ask('catalog/reload')).toEqual({
    file: '/etc/tollgate.toml',
    problems: [{ path: 'models[0].input', message: 'expected a decimal' }],
    changes: [],
    things: [],
    needs_restart: [],
    without_effect: [],
    digest: null,
  })
})

test('prices and secrets that change are differences, without the secret', () => {
  const config = loadConfig({ file: undefined, folder: '/nowhere', env: {} })
  if ('problems' in config) throw new Error('the defaults are sound')
  const [model] = config.catalog.models.values()
  if (model === undefined) throw new Error('the sample catalogue has models')
  const dearer = { ...model, rates: { ...model.rates, input: (model.rates.input * 2n) as typeof model.rates.input } }
  const catalog = { ...config.catalog, models: new Map([[model.id, dearer]]) }
  const paths = differences({ ...config, catalog: { ...config.catalog, models: new Map([[model.id, model]]) } }, { ...config, catalog })
  expect(paths.map(({ path }) => path)).toContain(`models.${model.id}.input`)
  const upstream = {
    name: 'a',
    door: { kind: 'native' as const },
    edits: { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true },
    secretHeaders: {},
    baseUrl: 'https://a.example',
    apiKey: 'one',
    auth: 'x-api-key' as const,
    headers: {},
    hidesErrorText: false,
    countTokens: 'yes' as const,
    echo: 'alarm' as const,
    forwardsVersions: true,
    forwardsBetas: true,
    weight: 1,
    priority: 0,
    maxConcurrent: 1,
    connectTimeoutMs: 1,
    transport: 'socket' as const,
    dialect: 'strict' as const,
    proxyUrl: undefined,
  }
  const finer = { ...config.catalog, models: new Map([[model.id, { ...model, bytesPerToken: 3.5 }]]) }
  expect(
    differences({ ...config, catalog: { ...config.catalog, models: new Map([[model.id, model]]) } }, { ...config, catalog: finer }),
  ).toEqual([{ path: `models.${model.id}.bytes_per_token`, before: String(model.bytesPerToken), after: '3.5' }])
  const stripe = { secretKey: 'sk_live_1', webhookSecret: 'whsec_1', minPicos: 5_000_000_000_000n as Picos, maxPicos: ZERO }
  expect(differences(config, { ...config, payments: { ...config.payments, stripe } })).toEqual([
    { path: 'payments.stripe.max_usd', before: null, after: '0' },
    { path: 'payments.stripe.min_usd', before: null, after: '5' },
    { path: 'payments.stripe.secret_key', before: null, after: 'a secret' },
    { path: 'payments.stripe.webhook_secret', before: null, after: 'a secret' },
  ])
  expect(differences({ ...config, upstreams: [upstream] }, { ...config, upstreams: [{ ...upstream, apiKey: 'two' }] })).toEqual([
    { path: 'upstreams.a.api_key', before: 'a secret', after: 'another one' },
  ])
})

test('the price list of the sample catalogue reads as it was written', () => {
  const config = loadConfig({ file: undefined, folder: '/nowhere', env: {} })
  if ('problems' in config) throw new Error('the defaults are sound')
  const model = config.catalog.models.get('claude-sonnet-5-5')
  expect(model && priceList(model.rates)).toEqual({ input: '2', output: '10', cacheRead: '0.05', cacheWrite: '1.25', cacheWrite1h: '2' })
})
