/** The models of a key, in the shape of the client that asks. Rules: requests.md "Model list", "Models". */

import { expect, test } from 'bun:test'
import { ask, bearer, errorOf, smallApp } from '../support/app.ts'
import { makeTestCatalog, makeTestWorld, START } from '../support/world.ts'

const SONNET = {
  id: 'sonnet',
  object: 'model',
  type: 'model',
  created: 1_759_104_000,
  created_at: '2025-09-29T00:00:00Z',
  owned_by: 'tollgate',
  name: 'Sonnet',
  display_name: 'Sonnet',
  max_input_tokens: 200_000,
  max_tokens: 64_000,
  max_output_tokens: 64_000,
  context_length: 200_000,
  max_model_len: 200_000,
  formats: ['messages', 'chat', 'responses'],
  upstream_formats: ['native'],
  architecture: { input_modalities: ['text', 'image', 'file'], output_modalities: ['text'] },
  input_cost_per_token: 0.000003,
  output_cost_per_token: 0.000015,
  cache_read_input_token_cost: 0.0000003,
  cache_creation_input_token_cost: 0.00000375,
  pricing: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6 },
}

type List = { object: string; data: { id: string }[]; has_more: boolean; first_id: string | null; last_id: string | null }

const listOf = async (response: Response): Promise<List> => (await response.json()) as List

test('200: the plan’s models, newest first, in the shape that both vendors’ SDKs read, with either header', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const secret = addKey()
  for (const headers of [bearer(secret), { 'x-api-key': secret }]) {
    const response = await ask(app, '/v1/models?limit=1000&beta=true', { headers })
    expect(response.status).toBe(200)
    const list = await listOf(response)
    expect(list).toMatchObject({ object: 'list', has_more: false, first_id: 'sonnet', last_id: 'vendor/model:v1@2.5' })
    expect(list.data.map(({ id }) => id)).toEqual(['sonnet', 'vendor/model:v1@2.5'])
    expect(list.data[0]).toEqual(SONNET)
  }
})

test('200: a model says which formats its servers speak, and which inputs they lack; a native one beside them has them', async () => {
  const dialect = { reasoning: 'auto', maxTokensField: 'max_tokens', streamUsage: true, dropFields: [], passFields: [] } as const
  const desk = { isNative: false, chat: [dialect], rejects: new Set(['images', 'documents'] as const) }
  const { world, addKey } = makeTestWorld({
    catalog: makeTestCatalog([
      { id: 'desk', ...desk },
      { id: 'both', ...desk, isNative: true, createdSeconds: 1 },
    ]),
  })
  const list = await listOf(await ask(smallApp(world), '/v1/models', { headers: bearer(addKey()) }))
  expect(list.data).toMatchObject([
    { id: 'desk', upstream_formats: ['chat'], architecture: { input_modalities: ['text'] } },
    { id: 'both', upstream_formats: ['native', 'chat'], architecture: { input_modalities: ['text', 'image', 'file'] } },
  ])
})

test('200: a plan without models is an empty list with null cursors', async () => {
  const { world, addKey } = makeTestWorld()
  const response = await ask(smallApp(world), '/v1/models', { headers: bearer(addKey({ plan: 'small' })) })
  expect(await listOf(response)).toEqual({ object: 'list', data: [], has_more: false, first_id: null, last_id: null })
})

test('200: cursors end a paginator instead of starting it again', async () => {
  const { world, addKey } = makeTestWorld({ catalog: makeTestCatalog(['a', 'b', 'c'].map((id, i) => ({ id, createdSeconds: 3 - i }))) })
  const app = smallApp(world)
  const headers = bearer(addKey())
  const ids = async (query: string): Promise<string[]> =>
    (await listOf(await ask(app, `/v1/models?${query}`, { headers }))).data.map(({ id }) => id)
  expect(await ids('')).toEqual(['a', 'b', 'c'])
  expect(await ids('after_id=a')).toEqual(['b', 'c'])
  expect(await ids('after_id=c')).toEqual([])
  expect(await ids('before_id=c')).toEqual(['a', 'b'])
  expect(await ids('before_id=a')).toEqual([])
  for (const odd of ['after_id=unknown', 'before_id=unknown', 'after_id=']) expect(await ids(odd)).toEqual([])
  for (const odd of ['after_id=a&after_id=c', 'after_id[]=a', 'limit=1', 'limit=1000', '%', '__proto__=1', '&&&='])
    expect(Array.isArray(await ids(odd))).toBe(true)
})

test('400 names the query’s field, after the limits and the key were asked, and quotes nothing of the value', async () => {
  const { world, addKey, logLines } = makeTestWorld({ limits: { requestsPerMinute: 6 } })
  const app = smallApp(world)
  const headers = bearer(addKey())
  const wrong = { status: 400, type: 'invalid_request_error', message: 'limit: Input should be a whole number, 1 or more' }
  for (const query of ['limit=0', 'limit=-1', 'limit=canary', 'limit=1.5', 'limit=', 'after_id=a&limit=NaN']) {
    const response = await ask(app, `/v1/models?${query}`, { headers })
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect([query, await errorOf(response)]).toEqual([query, wrong])
  }
  expect(logLines()).toHaveLength(6)
  expect(logLines()[2]).toMatchObject({ route: '/v1/models', status: 400, refusal: 'invalidRequest', key_id: 'key_1' })
  expect(JSON.stringify(logLines())).not.toContain('canary')
  const path = '/v1/models?limit=x'
  expect(await errorOf(await ask(app, path))).toMatchObject({ status: 401, message: 'API key is required' })
  expect(await errorOf(await ask(app, path, { headers: bearer(addKey({ isActive: false })) }))).toMatchObject({
    message: 'API key is disabled',
  })
  expect(await errorOf(await ask(app, path, { headers: bearer(addKey({ expiresAt: START })) }))).toMatchObject({ status: 403 })
  expect(await errorOf(await ask(app, path, { headers }))).toMatchObject({ status: 429 })
  expect((await ask(app, path, { method: 'HEAD', headers })).status).toBe(404)
})

test('200: one model by its id, however the id is written in the path', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const headers = bearer(addKey())
  expect(await (await ask(app, '/v1/models/sonnet', { headers })).json()).toEqual(SONNET)
  for (const written of ['vendor/model:v1@2.5', 'vendor%2Fmodel%3Av1%402.5', 'vendor%2fmodel:v1@2%2E5'])
    expect(await (await ask(app, `/v1/models/${written}`, { headers })).json()).toMatchObject({ id: 'vendor/model:v1@2.5' })
})

test('404 with the contract’s sentence: an unknown model, one outside the plan, an empty or broken id', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  const missing = { status: 404, type: 'not_found_error', message: 'The requested API endpoint does not exist' }
  const headers = bearer(addKey())
  for (const id of [
    'nope',
    'SONNET',
    'sonnet/',
    'sonnet%20',
    '',
    '%',
    '%zz',
    '%E0%A4%A',
    '__proto__',
    'constructor',
    'sonnet%00',
    'vendor%252Fmodel:v1@2.5',
    '/sonnet',
    'vendor//model:v1@2.5',
  ])
    expect(await errorOf(await ask(app, `/v1/models/${id}`, { headers }))).toEqual(missing)
  expect(await errorOf(await ask(app, '/v1/models/sonnet', { headers: bearer(addKey({ plan: 'small' })) }))).toEqual(missing)
})

test('401 and 403 as on every model route, before the model is looked at', async () => {
  const { world, addKey } = makeTestWorld()
  const app = smallApp(world)
  for (const path of ['/v1/models', '/v1/models/nope']) {
    expect(await errorOf(await ask(app, path))).toMatchObject({ status: 401, message: 'API key is required' })
    expect(await errorOf(await ask(app, path, { headers: bearer('sk-x') }))).toMatchObject({ status: 401, message: 'Invalid API key' })
    expect(await errorOf(await ask(app, path, { headers: bearer(addKey({ isActive: false })) }))).toMatchObject({
      message: 'API key is disabled',
    })
    expect(await errorOf(await ask(app, path, { headers: bearer(addKey({ expiresAt: START })) }))).toMatchObject({
      status: 403,
      message: 'API key expired',
    })
  }
})

test('429 when the key has used up its requests a minute', async () => {
  const { world, addKey } = makeTestWorld({ limits: { requestsPerMinute: 2 } })
  const app = smallApp(world)
  const headers = bearer(addKey())
  for (const expected of [200, 200, 429]) expect((await ask(app, '/v1/models', { headers })).status).toBe(expected)
})

test('the log names the route, and the path without what was pasted into it', async () => {
  const { world, addKey, logLines } = makeTestWorld()
  await ask(smallApp(world), '/v1/models/sk-canary?model=canary', { headers: bearer(addKey()) })
  expect(logLines()[0]).toMatchObject({
    route: '/v1/models/{id}',
    status: 404,
    refusal: 'notFound',
    key_id: 'key_1',
    path: '/v1/models/***',
  })
  expect(JSON.stringify(logLines())).not.toContain('canary')
})
