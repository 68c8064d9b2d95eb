/**
 * Whatever a token sends to whichever route: no bug, no answer that says more than the token may see, and books that add up. Rules: operator-api.md "Scopes", "Errors", "Lists".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type ApiAnswer, type ApiClient, apiClient } from '../../support/api-client.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { runs } from '../../support/property-runs.ts'

type Schema = Readonly<{
  type?: string
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  properties?: Readonly<Record<string, Schema>>
  $ref?: string
}>
type Operation = Readonly<{
  parameters?: readonly Readonly<{ name: string; in: string }>[]
  requestBody?: Readonly<{ content: Readonly<Record<string, Readonly<{ schema: Schema }>>> }>
}>
type Route = Readonly<{ method: string; path: string; query: readonly string[]; fields: readonly string[] }>

let gateway: TestGateway
let all: ApiClient
const ids = { north: '', south: '', northKey: '', southKey: '', northRequest: '', southRequest: '', southCredit: '', southDisplay: '' }
let routes: readonly Route[] = []

beforeAll(async () => {
  gateway = await startTestGateway()
  all = await apiClient(gateway, { name: 'all' })
  for (const name of ['north', 'south'] as const) {
    const made = (await all.post('/keys', { name: `${name}-Ω`, balance_usd: '10' })).body
    ids[name] = String(made['account_id'])
    ids[`${name}Key`] = String(made['id'])
    if (name === 'south') ids.southDisplay = String(made['display'])
    const body = { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] }
    const answer = await gateway.post('/v1/messages', String(made['secret']), body)
    ids[`${name}Request`] = answer.headers.get('x-request-id') ?? ''
    await answer.text()
  }
  await gateway.idle()
  ids.southCredit = String((await all.post(`/accounts/${ids.south}/top-ups`, { amount_usd: '1', ref: 'south-ref' })).body['credit_id'])
  routes = await routesOf()
})
afterAll(async () => {
  expect(gateway.logLines().flatMap(({ alarm }) => (alarm === undefined ? [] : [alarm]))).toEqual([])
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})

async function routesOf(): Promise<readonly Route[]> {
  const document = (await (await fetch(`${gateway.operatorUrl}/api/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>
    components?: { schemas?: Record<string, Schema> }
  }
  // A statement is JSON lines.
  const paths = Object.entries(document.paths).filter(([path]) => !path.endsWith('/statement'))
  return paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
      const sent = requestBody?.content['application/json']?.schema
      const schema = sent?.$ref === undefined ? sent : document.components?.schemas?.[sent.$ref.split('/').at(-1) ?? '']
      return {
        method,
        path: path.replace('/api/v1', ''),
        query: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
        fields: Object.keys(schema?.properties ?? {}),
      }
    }),
  )
}

const NASTY = [
  '',
  '0',
  '-1',
  '1e400',
  '9'.repeat(39),
  '0.0000000000001',
  '-0',
  'NaN',
  '１２',
  '٣',
  '\u0000',
  '\ud800',
  'é',
  'Ω',
  '🦊'.repeat(60),
  'a\u202eb',
  'x'.repeat(128),
  "' OR 1=1 --",
  '%',
  '_',
  '*',
  '"',
  '\\',
  '../..',
  '%2e%2e',
  'key_',
  'acc_',
  'crd_',
  '~',
  '99999999999999999999',
  '9007199254740993',
  '1:2:3',
  'req_x:9',
  '2026-13-45',
  '2026-02-30',
  '0000-01-01',
  '9999-12-31',
  '+275760-09-13',
  'all',
  'month',
  'default',
  'south-ref',
  'constructor',
  '__proto__',
  'sk-…',
  'TG-00000-00000-00000-00000-00000',
  '25',
  '10',
  '3',
] as const
const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<string>(...NASTY) },
  { weight: 2, arbitrary: fc.nat({ max: 5 }).map((n) => Object.values(ids)[n] ?? '') },
  fc.string({ maxLength: 40, unit: 'binary' }),
)
const value = fc.oneof(
  { weight: 8, arbitrary: text as fc.Arbitrary<unknown> },
  fc.constantFrom<unknown>(null, true, 0, -1, 1, 90, 1.5, 1e308, 2 ** 53, [], {}, ['x'], [null]),
)
const sending = fc.record({
  route: fc.nat(),
  path: fc.array(text, { minLength: 3, maxLength: 3 }),
  values: fc.array(value, { minLength: 10, maxLength: 10 }),
  how: fc.array(fc.constantFrom('left out', 'left out', 'plausible', 'plausible', 'nasty'), { minLength: 10, maxLength: 10 }),
  key: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
})
/** What a route takes, by the name of the field: with it more of the sent is done than refused for its form. */
const plausible = (method: string): Readonly<Record<string, readonly unknown[]>> => ({
  account_id: [ids.north, ids.south],
  key_id: [ids.northKey, ids.southKey],
  amount_usd: ['0.5', '8999999', '-1', '0.000000000001', '3'],
  balance_usd: ['0.5', '9000000', '0'],
  limit_usd: ['0', '1.25', null],
  ref: ['south-ref', 'inv-1', 'Ω'],
  days: [1, 30, 90],
  expires_in_days: [1, 90, null],
  overlap_hours: [0, 24, 2_160],
  ends_promised: [true],
  count: [1, 3],
  per: ['hour', 'day', 'week', 'month'],
  plan: ['default', 'small', null],
  email: ['ann@example.com', 'bob@example.com'],
  from: method === 'get' ? ['2026-11-01', '2026-11-27T00:00:00Z', '1970-01-01'] : ['account', 'console', 'everything'],
  to: ['2026-11-30', '2026-11-28T00:00:00Z', '9999-12-31'],
  role: ['owner', 'reader'],
  link: ['password', 'sign-in'],
  listener: ['cabinet', 'console'],
  tags_user_ids: [true, false],
  requests_per_minute: [1, null],
  concurrent_requests: [1, null],
  limit: [1, 3, 1_000],
  cursor: [ids.southCredit, ids.southRequest, `${ids.southRequest}:1`, ids.southKey, ids.south, '1', '20000:1:1', '20000:1:1:1'],
  search: ['n', 'south', 'so', ids.south.slice(0, 20)],
  outcome: ['complete', 'aborted'],
  only: ['waived', 'over hold', 'estimated'],
  actor: ['token:all'],
  action: ['credit', 'createKey'],
  target: [ids.south, ids.southKey],
  reason: ['asked', ''],
})

type Sending = typeof sending extends fc.Arbitrary<infer T> ? T : never

/** The place of an id in a path: the real ones often, so that more than a 404 is reached. */
function pathOf(route: Route, { path }: Sending): string {
  let at = 0
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const given = path[at++] ?? ''
    const real = name === 'key_id' ? ids.southKey : name === 'account_id' ? ids.south : ids.southRequest
    return encodeURIComponent(given.isWellFormed() && given.length % 2 === 0 && given !== '' ? given : real)
  })
}

async function send(client: ApiClient, one: Sending): Promise<readonly [Route, unknown, ApiAnswer]> {
  const route = routes[one.route % routes.length]
  if (route === undefined) throw new Error('there are no routes')
  const names = route.method === 'get' ? route.query : route.fields
  const given = Object.fromEntries(
    names.flatMap((name, at) => {
      const [how, drawn] = [one.how[at % 10], one.values[at % 10]]
      const usual = plausible(route.method)[name]
      if (how === 'left out') return []
      return [[name, how === 'plausible' && usual !== undefined ? usual[JSON.stringify(drawn).length % usual.length] : drawn]]
    }),
  )
  if (route.method !== 'get') return [route, given, await client.post(pathOf(route, one), given, one.key)]
  const query = new URLSearchParams(Object.entries(given).map(([name, it]): [string, string] => [name, String(it).toWellFormed()]))
  return [route, given, await client.get(`${pathOf(route, one)}?${query}`)]
}

/** What the token cannot have from what it sends. */
const secrets = (): readonly string[] => [ids.southCredit, ids.southDisplay, 'south-Ω']

test('a token that is bound to one account learns nothing of another, whatever it asks for', async () => {
  expect(routes.length).toBeGreaterThan(40)
  let client = await apiClient(gateway, { accountIds: [ids.north] })
  let sent = 0
  await fc.assert(
    fc.asyncProperty(sending, async (one) => {
      if (sent++ % 100 === 0) client = await apiClient(gateway, { accountIds: [ids.north] })
      const [route, given, { status, body }] = await send(client, one)
      expect([route, given, status, status < 500]).toEqual([route, given, status, true])
      if (status !== 200) return
      const said = JSON.stringify(body)
      for (const other of secrets()) expect([route, given, said, !said.includes(other)]).toEqual([route, given, said, true])
    }),
    { numRuns: runs(300) },
  )
})

test('a token of all: every answer is a document or a refusal that says why, and the books add up', async () => {
  let client = all
  let sent = 0
  await fc.assert(
    fc.asyncProperty(sending, async (one) => {
      if (sent++ % 100 === 0) client = await apiClient(gateway)
      const [route, given, { status, body }] = await send(client, one)
      expect([route, given, status, status < 500]).toEqual([route, given, status, true])
      if (status >= 400)
        expect([route, given, body]).toEqual([
          route,
          given,
          { type: 'error', error: { type: expect.any(String), message: expect.stringMatching(/./) } },
        ])
    }),
    { numRuns: runs(300) },
  )
})
