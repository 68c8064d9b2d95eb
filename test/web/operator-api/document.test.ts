/**
 * `/api/openapi.json` is true: valid OpenAPI 3.1 that names exactly the routes that are served, each with what it really answers; clients that are generated from it, and
 * Eden's, make a key, use it up to its end and read it again. Rules: operator-api.md "Described".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { treaty } from '@elysiajs/eden'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import openapiTS, { type OpenAPI3 } from 'openapi-typescript'
import type { OperatorApi } from '../../../src/web/operator-api/app.ts'
import { type ApiClient, apiClient } from '../../support/api-client.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'

type Operation = {
  operationId: string
  parameters?: { name: string; in: string }[]
  responses: Record<string, { content: Record<string, { schema: object }> }>
}
type Document = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

let gateway: TestGateway
let client: ApiClient
let document: Document

beforeAll(async () => {
  gateway = await startTestGateway()
  client = await apiClient(gateway, { name: 'shop' })
  document = (await (await fetch(`${gateway.operatorUrl}/api/openapi.json`)).json()) as Document
})
afterAll(() => gateway.stop())

test('it is valid OpenAPI, needs no token, and is on the operator’s listener alone', async () => {
  const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>)
  expect([valid, errors]).toEqual([true, undefined])
  expect(document.servers).toEqual([{ url: gateway.operatorUrl }])
  expect((await fetch(`${gateway.url}/api/openapi.json`)).status).toBe(404)
  const page = await fetch(`${gateway.operatorUrl}/api`)
  expect(page.headers.get('content-security-policy')).toStartWith("default-src 'none'")
  const html = await page.text()
  for (const path of Object.keys(document.paths)) expect(html).toContain(path)
  expect(html).not.toContain('x-api-key')
  expect((await fetch(`${gateway.operatorUrl}/docs/operate`).then((answer) => answer.text())).includes('href="/api"')).toBe(true)
})

/** A token with no scope but `read` is told of each route that it exists: 403 or 400, never 404 as for an unknown path. */
test('every route that it names is served, each write takes an Idempotency-Key, and no two have one id', async () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ path, method, one })),
  )
  expect(new Set(operations.map(({ one }) => one.operationId)).size).toBe(operations.length)
  expect(operations.length).toBeGreaterThan(40)
  for (const { path, method, one } of operations) {
    expect([path, one.parameters?.some(({ name }) => name === 'idempotency-key') ?? false]).toEqual([path, method === 'post'])
    const answer = await fetch(`${gateway.operatorUrl}${path.replaceAll(/\{\w+\}/g, 'x')}`, { method: method.toUpperCase() })
    expect([path, answer.status]).toEqual([path, 401])
  }
})

test('what it says of answers is what is answered', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema({ $id: 'document', ...document })
  const made = (await client.post('/keys', { name: 'k', balance_usd: '5' })).body
  const secret = String(made['secret'])
  const answered = await gateway.post('/v1/messages', secret, {
    model: MODEL_ID,
    max_tokens: 8,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const requestId = answered.headers.get('x-request-id')
  await answered.text()
  await gateway.idle()
  await client.post('/codes', { count: 1, amount_usd: '1', name: 'b' })
  const [key, account] = [`/keys/${made['id']}`, `/accounts/${made['account_id']}`]
  const asked: readonly (readonly [pattern: string, path: string, body?: object])[] = [
    ['/keys', '/keys', { name: 'l' }],
    ['/keys', '/keys'],
    ['/keys/{key_id}', key],
    ['/keys/{key_id}/budgets', `${key}/budgets`, { per: 'hour', limit_usd: '4' }],
    ['/keys/{key_id}/budgets', `${key}/budgets`],
    ['/keys/{key_id}/extend', `${key}/extend`, { days: 3 }],
    ['/keys/{key_id}/rotate', `${key}/rotate`, {}],
    ['/accounts', '/accounts'],
    ['/accounts/{account_id}', account],
    ['/accounts/{account_id}/budgets', `${account}/budgets`, { per: 'month', limit_usd: '9' }],
    ['/accounts/{account_id}/budgets', `${account}/budgets`],
    ['/accounts/{account_id}/tags', `${account}/tags`, { tags_user_ids: true }],
    ['/accounts/{account_id}/plan', `${account}/plan`, { plan: 'small' }],
    ['/accounts/{account_id}/top-ups', `${account}/top-ups`, { amount_usd: '1' }],
    ['/credits', '/credits'],
    ['/codes', '/codes'],
    ['/codes', '/codes', { count: 1, amount_usd: '1' }],
    ['/codes/{batch}', '/codes/b'],
    ['/people', '/people'],
    ['/receipts', '/receipts'],
    ['/receipts/{request_id}', `/receipts/${requestId}`],
    ['/attempts', '/attempts'],
    ['/usage', '/usage'],
    ['/usage/tags', `/usage/tags?key_id=${made['id']}`],
    ['/margin', '/margin'],
    ['/audit', '/audit'],
    ['/holds', '/holds'],
    ['/upstreams', '/upstreams'],
    ['/nodes', '/nodes'],
    ['/reload', '/reload'],
    ['/verifications', '/verifications', {}],
  ]
  for (const [pattern, path, body] of asked) {
    const { status, body: answer } = body === undefined ? await client.get(path) : await client.post(path, body)
    expect([path, status]).toEqual([path, 200])
    const schema =
      document.paths[`/api/v1${pattern}`]?.[body === undefined ? 'get' : 'post']?.responses['200']?.content['application/json']?.schema
    const check = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')))
    check(answer)
    expect([path, check.errors ?? []]).toEqual([path, []])
  }
  const refused = await client.post('/keys', { limit_usd: 'x' })
  const check = ajv.compile({ $ref: 'document#/components/schemas/Error' })
  expect([refused.status, check(refused.body)]).toEqual([400, true])
})

test('Eden’s client, whose types are those of the routes, makes a key, limits it and is told why not', async () => {
  const api = treaty<OperatorApi>(gateway.operatorUrl, { headers: { authorization: `Bearer ${client.token}` } }).api.v1
  const made = await api.keys.post({ name: 'eden', limit_usd: '2' }, { headers: { 'idempotency-key': 'eden-1' } })
  expect(made.data?.secret).toStartWith('sk-')
  const again = await api.keys.post({ name: 'eden', limit_usd: '2' }, { headers: { 'idempotency-key': 'eden-1' } })
  expect([again.data?.id, again.data?.secret, again.data?.secret_shown]).toEqual([made.data?.id, null, true])
  const limited = await api.keys({ key_id: made.data?.id ?? '' }).limit.post({ limit_usd: '3' })
  expect(limited.data?.limit_usd).toBe('3')
  const listed = await api.keys.get({ query: { search: 'eden' } })
  expect(listed.data?.data.map(({ id }) => id)).toEqual([made.data?.id ?? ''])
  const refused = await api.accounts({ account_id: 'acc_none' }).get()
  expect([refused.status, refused.data]).toEqual([404, null])
})

/** A script as an operator in TypeScript writes it over the types that `openapi-typescript` makes: its mistake is one that only those types can find. */
const SCRIPT = `import createClient from 'openapi-fetch'
import type { paths } from './schema'
const api = createClient<paths>({ baseUrl: process.env['BASE'] ?? '', headers: { authorization: \`Bearer \${process.env['TOKEN']}\` } })
const made = await api.POST('/api/v1/keys', { body: { name: 'generated', expires_in_days: 30 }, params: { header: { 'idempotency-key': 'g-1' } } })
if (made.data === undefined) throw new Error(JSON.stringify(made.error))
const secret: string | null = made.data.secret
const key = await api.GET('/api/v1/keys/{key_id}', { params: { path: { key_id: made.data.id } } })
// @ts-expect-error a field that the document does not have
void key.data?.no_such_field
// @ts-expect-error a limit is a text with every digit
void api.POST('/api/v1/keys/{key_id}/limit', { params: { path: { key_id: '' } }, body: { limit_usd: 5 } })
const page = await api.GET('/api/v1/keys', { params: { query: { limit: 1 } } })
console.log(JSON.stringify({ secret, state: key.data?.state, rows: page.data?.data.length }))
`

test('openapi-typescript makes types of it that compile and find mistakes, and its client makes a key', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-api-'))
  try {
    await Bun.write(join(folder, 'schema.ts'), await openapiTS(document as unknown as OpenAPI3))
    await Bun.write(join(folder, 'script.ts'), SCRIPT)
    const modules = join(import.meta.dir, '../../../node_modules')
    const options = {
      strict: true,
      target: 'esnext',
      module: 'esnext',
      moduleResolution: 'bundler',
      noEmit: true,
      skipLibCheck: true,
      types: ['bun'],
    }
    const compilerOptions = {
      ...options,
      typeRoots: [join(modules, '@types')],
      paths: { 'openapi-fetch': [join(modules, 'openapi-fetch')] },
    }
    await Bun.write(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['script.ts'] }))
    const env = { ...process.env, BASE: gateway.operatorUrl, TOKEN: client.token }
    const checked = Bun.spawn([join(modules, '.bin/tsc'), '-p', folder], { stdout: 'pipe', stderr: 'pipe' })
    expect([await new Response(checked.stdout).text(), await checked.exited]).toEqual(['', 0])
    const ran = Bun.spawn([process.execPath, join(folder, 'script.ts')], { env, cwd: folder, stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = [await new Response(ran.stdout).text(), await new Response(ran.stderr).text()]
    expect([err, JSON.parse(out)]).toEqual(['', { secret: expect.stringMatching(/^sk-/), state: 'live', rows: 1 }])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 120_000)
