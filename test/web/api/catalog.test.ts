/** The catalogue is shown as the file writes it, and what a reload would change is seen before it is done. Rules: pages.md "Catalog"; operator.md "Reload". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { differences } from '../../../src/config/difference.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { priceList } from '../../../src/config/prices.ts'
import { type Picos, picos, ZERO } from '../../../src/core/money.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'

type ReadConfig = NonNullable<NonNullable<Parameters<typeof startTestGateway>[0]>['readConfig']>

let read: ReadConfig = (inForce) => inForce
let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  gateway = await startTestGateway({ upstreams: ['http://127.0.0.1:9'], readConfig: (inForce) => read(inForce) })
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
  expect(await ask('catalog/reload')).toEqual({ file: null, problems: [], changes: [], needs_restart: [], without_effect: [] })
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
    needs_restart: [],
    without_effect: [],
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
