/**
 * `/openapi.json` is true: it is valid OpenAPI 3.1, names exactly the routes that are served, holds the contract's error table word for word, and what it says
 * of answers is what a listening gateway on the simulator really answers. `GOLDEN=write bun test test/http/openapi.test.ts` records the examples anew.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { REFUSALS, Refusal, type RefusalName } from '../../src/core/refusal.ts'
import { buildApp } from '../../src/http/app.ts'
import { ClientLimits } from '../../src/http/client-limit.ts'
import type { Relay } from '../../src/relay/relay.ts'
import { gatesOf } from '../support/gates.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { connectRaw } from '../support/raw-client.ts'
import { makeTestWorld } from '../support/world.ts'

type Media = { schema: object; examples?: Record<string, { summary?: string; value: unknown }>; 'x-event-schema'?: object }
type Answer = { description: string; headers: Record<string, unknown>; content: Record<string, Media> }
type Operation = {
  operationId: string
  security: Record<string, unknown>[]
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Answer>
}
type Document = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; headers: Record<string, { schema: object }> }
}
type Described = Readonly<{ path: string; method: string; operation: Operation }>

const MODEL_ID = 'claude-sonnet-4-5'
const EXAMPLES = join(import.meta.dir, '../../src/http/openapi/examples')
const FILES: Readonly<Record<string, string>> = {
  createMessage: 'messages',
  createChatCompletion: 'chat',
  createResponse: 'responses',
  countTokens: 'count-tokens',
}

let gateway: TestGateway
let secret: string
/** Of a request of the key that reads. */
let requestId = 'req_0'
let document: Document
let operations: readonly Described[]

beforeAll(async () => {
  gateway = await startTestGateway({ models: [{ id: MODEL_ID, displayName: 'Claude Sonnet 4.5' }] })
  secret = await gateway.createKey({ expiresAt: Date.now() + 86_400_000 })
  document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
})

afterAll(() => gateway.stop())

const named = (operationId: string): Described => {
  const found = operations.find(({ operation }) => operation.operationId === operationId)
  if (found === undefined) throw new Error(`no operation ${operationId}`)
  return found
}

const ask = ({ path, method }: Described, headers: Record<string, string>, body?: unknown): Promise<Response> =>
  fetch(`${gateway.url}${path.replace('{id}', MODEL_ID).replace('{request_id}', requestId)}`, {
    method: method.toUpperCase(),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

/** A document in which an object may have no member that is not described, unless it says that it may. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, name === 'examples' ? member : closed(member)])
  const isObject = 'properties' in value && !('additionalProperties' in value)
  return { ...Object.fromEntries(members), ...(isObject ? { additionalProperties: false } : {}) }
}

let ajv: Ajv2020 | undefined

/** A schema of the document as a client's validator reads it, closed. */
function compile(schema: object): ValidateFunction {
  ajv ??= new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema({
    $id: 'document',
    ...(closed(document) as object),
  })
  return ajv.compile(JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')))
}

function expectMatch(about: string, schema: object | undefined, value: unknown): void {
  if (schema === undefined) throw new Error(`${about}: no schema`)
  const check = compile(schema)
  check(value)
  expect([about, check.errors ?? []]).toEqual([about, []])
}

/** What differs from run to run, made the same. */
const settled = (text: string): string =>
  text
    .replaceAll(/sim[0-9a-f]{16}/g, 'sim0123456789abcdef')
    .replaceAll(/"(created|created_at|access_until)":(?!1759104000)\d{10}/g, '"$1":1767225600')
    .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"2026-01-01T00:00:00.000Z"')
    .replaceAll(/"\d{4}-\d\d-\d\d"/g, '"2026-01-01"')
    .replaceAll(/"(first_byte_ms|duration_ms)":\d+/g, '"$1":120')
    .replaceAll(/req_[0-9a-f]{32}/g, 'req_0123456789abcdef0123456789abcdef')
    .replaceAll(/"MCow[^"]{56}"/g, `"MCowBQYDK2VwAyEA${'A'.repeat(43)}="`)
    .replaceAll(/sk-…\w{4}/g, 'sk-…a1B2')

/** The example's answer; with GOLDEN=write the real one takes its place. */
async function expectExample(file: string, name: string, documented: unknown, answered: unknown): Promise<void> {
  if (process.env['GOLDEN'] === 'write') {
    const path = join(EXAMPLES, `${file}.json`)
    const all = (await Bun.file(path).json()) as Record<string, Record<string, unknown>>
    const kept = file === 'small' ? (answered as Record<string, unknown>) : { ...all[name], answer: answered }
    await Bun.write(path, `${JSON.stringify({ ...all, [name]: kept }, null, 2)}\n`)
    return
  }
  expect([file, name, documented]).toEqual([file, name, answered])
}

test('a number is a number: none may be text as well', () => {
  expect(JSON.stringify(document)).toContain('"type":"integer"')
  expect(JSON.stringify(document)).not.toContain('"format":"integer"')
})

test('it is OpenAPI 3.1, valid, the same for every Host, and any origin may read it', async () => {
  const response = await fetch(`${gateway.url}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
  const raw = await connectRaw(gateway.url)
  await raw.send(Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n'))
  await raw.closed
  const text = Buffer.from(raw.received()).toString('utf8')
  expect(text).toStartWith('HTTP/1.1 200')
  expect(text).not.toContain('evil.example')
})

/** Served and no part of the API: preflights, a second pattern of a documented path, and the pages about it. */
const UNDESCRIBED = new Set(['OPTIONS /v1/*', 'GET /v1/models/:id/*', 'GET /openapi.json'])

const routesOf = () => {
  const { world } = makeTestWorld()
  const clocked = { limits: world.limits, now: world.clock.monotonicMs }
  return buildApp({
    world,
    relay: undefined as unknown as Relay,
    ...gatesOf(world),
    clientLimits: new ClientLimits(clocked),
  }).routes
}

test('every route of the application is in it, and none that is not served', async () => {
  const routes = routesOf()
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !UNDESCRIBED.has(route) && !route.startsWith('GET /docs') && route !== 'GET /llms.txt')
  const described = operations.map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
  expect(described.toSorted()).toEqual(routes.toSorted())
  for (const operation of operations)
    expect([operation.path, (await ask(operation, {})).status]).toEqual([
      operation.path,
      operation.operation.security.length === 0 ? 200 : 401,
    ])
})

test('a model route has nothing that Elysia would judge or read, and whoever judges a query asks for the key first', () => {
  const posts = routesOf().filter(({ method }) => method === 'POST')
  expect(posts).toHaveLength(4)
  for (const { path, hooks } of posts) {
    expect([path, ['body', 'headers', 'query', 'params', 'response', 'cookie'].filter((part) => hooks[part] !== undefined)]).toEqual([
      path,
      [],
    ])
    expect([path, hooks.parse?.map(({ fn }: { fn: unknown }) => fn)]).toEqual([path, ['none']])
  }
  const judging = routesOf().filter(({ hooks }) => hooks.query !== undefined)
  expect(judging.map(({ path }) => path)).toContain('/v1/models')
  // The first is that of unknown paths and bugs, which leaves a query alone; the second is the key macro's.
  for (const { path, hooks } of judging) expect([path, hooks.error?.length]).toEqual([path, 2])
})

test('each operation says how the key is sent, and its refusal of no key is the one that really comes', async () => {
  for (const described of operations) {
    const { path, operation } = described
    const schemes = operation.security.flatMap((way) => Object.keys(way))
    const expected = /^\/(livez|readyz)/.test(path) ? [] : path.startsWith('/v1/dashboard') ? ['bearer'] : ['bearer', 'apiKey']
    expect([path, schemes]).toEqual([path, expected])
    if (expected.length === 0) continue
    const response = await ask(described, {})
    const documented = operation.responses['401']
    expect([path, await response.json()]).toEqual([path, documented?.content['application/json']?.examples?.['keyMissing']?.value])
    for (const name of Object.keys(documented?.headers ?? {})) expect([path, name, response.headers.has(name)]).toEqual([path, name, true])
    const withApiKey = await ask(described, { 'x-api-key': secret })
    expect([path, withApiKey.status === 401]).toEqual([path, !schemes.includes('apiKey')])
  }
})

/** The rows whose words depend on the request: here as the contract gives them. */
const WORDED: Partial<Record<RefusalName, RegExp>> = {
  invalidRequest: /^max_tokens: Field required$/,
  modelUnavailable: /^Model X is not available on this API key$/,
  upstreamInvalidRequest: /^prompt is too long: \d+ tokens > \d+ maximum$/,
  insufficientBalance: /^Insufficient balance on this API key\. Top up: https:\/\/\S+$/,
}

test('every row of the error table stands in it, word for word, with the headers that go with it', () => {
  const met = new Set<RefusalName>()
  for (const { path, operation } of operations) {
    for (const [status, answer] of Object.entries(operation.responses)) {
      expect([path, status, 'x-request-id' in answer.headers, 'request-id' in answer.headers]).toEqual([path, status, true, true])
      if (status === '200' || operation.operationId === 'getReadiness') continue
      const names = Object.keys(answer.content['application/json']?.examples ?? {}) as RefusalName[]
      expect(names.length).toBeGreaterThan(0)
      for (const name of names) {
        met.add(name)
        const row = REFUSALS[name]
        const media = answer.content['application/json']
        const body = media?.examples?.[name]?.value as { error: { type: string; message: string; code?: string } }
        expect([name, Number(status), body.error.type, body.error.code]).toEqual([
          name,
          row.status,
          row.type,
          'code' in row ? row.code : undefined,
        ])
        expect(body.error.message).toMatch(WORDED[name] ?? new RegExp(`^${new Refusal(name).message}$`))
        expect([name, 'retry-after' in answer.headers || !row.isRetryable]).toEqual([name, true])
        expect([name, 'x-should-retry' in answer.headers || row.isRetryable]).toEqual([name, true])
        expectMatch(`${path} ${name}`, media?.schema, body)
      }
    }
  }
  expect([...met].toSorted()).toEqual((Object.keys(REFUSALS) as RefusalName[]).toSorted())
})

test('each row stands where it can occur and nowhere else', () => {
  const pathsWith = (name: string): string[] =>
    operations
      .filter(({ operation }) =>
        Object.values(operation.responses).some(({ content }) => name in (content['application/json']?.examples ?? {})),
      )
      .map(({ operation }) => operation.operationId)
      .toSorted()
  const generating = ['createChatCompletion', 'createMessage', 'createResponse']
  expect(pathsWith('insufficientBalance')).toEqual(generating)
  expect(pathsWith('balanceHeld')).toEqual(generating)
  expect(pathsWith('threadUnsupported')).toEqual(['countTokens', 'createMessage'])
  expect(pathsWith('bodyTooLarge')).toEqual(['countTokens', ...generating])
  expect(pathsWith('notFound')).toEqual(['countTokens', 'getUsageRequest', 'retrieveModel'])
  expect(pathsWith('invalidRequest')).toEqual(['countTokens', ...generating, 'listModels', 'listUsageDaily', 'listUsageRequests'])
  expect(pathsWith('keyDisabled')).not.toContain('getBalance')
  expect(pathsWith('keyExpired')).toHaveLength(operations.length - 2)
})

test('every example of a request is answered as it says, in the shape that the document gives', async () => {
  let sent = 0
  for (const [operationId, file] of Object.entries(FILES)) {
    const described = named(operationId)
    const { requestBody, responses } = described.operation
    const json = requestBody?.content['application/json']
    for (const [name, { value }] of Object.entries(json?.examples ?? {})) {
      sent++
      expectMatch(`${operationId} ${name} request`, json?.schema, value)
      const response = await ask(described, { authorization: `Bearer ${secret}` }, value)
      const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? ''
      const media = responses[response.status]?.content[type]
      const text = await response.text()
      if (type === 'text/event-stream') {
        const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data))
        expect(events.length).toBeGreaterThan(2)
        for (const event of events) expectMatch(`${operationId} ${name} event`, media?.['x-event-schema'], event)
      } else expectMatch(`${operationId} ${name} answer`, media?.schema, JSON.parse(text))
      await expectExample(
        file,
        name,
        media?.examples?.[name]?.value,
        type === 'text/event-stream' ? settled(text) : JSON.parse(settled(text)),
      )
    }
  }
  expect(sent).toBe(10)
})

test('every document that is only read is answered as it says, in the shape that the document gives', async () => {
  const reader = await gateway.createKey({ balanceUsd: '24.9985', expiresAt: Date.now() + 86_400_000 })
  const asked = { model: MODEL_ID, max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] }
  requestId = (await gateway.post('/v1/messages', reader, asked)).headers.get('x-request-id') ?? ''
  const read = operations.filter(({ method }) => method === 'get')
  expect(read).toHaveLength(13)
  for (const described of read) {
    const { operationId, responses } = described.operation
    const response = await ask(described, { authorization: `Bearer ${reader}` })
    const text = await response.text()
    expect([operationId, response.status]).toEqual([operationId, 200])
    const media = responses['200']?.content['application/json']
    expectMatch(operationId, media?.schema, JSON.parse(text))
    await expectExample('small', operationId, media?.examples?.['example']?.value, JSON.parse(settled(text)))
    for (const name of Object.keys(responses['200']?.headers ?? {}))
      expect([operationId, response.headers.get(name)?.startsWith('req_')]).toEqual([operationId, true])
  }
})

test('the examples name a model that this installation has', async () => {
  const other = await startTestGateway({ models: [{ id: 'vendor/model:v1@2.5' }] })
  try {
    const text = await (await fetch(`${other.url}/openapi.json`)).text()
    expect(text).not.toContain(MODEL_ID)
    expect(text).toContain('"model":"vendor/model:v1@2.5"')
  } finally {
    await other.stop()
  }
})

test('the query’s fields are documented, the key’s headers are left to the security schemes', () => {
  const { parameters = [] } = named('listModels').operation
  expect(parameters.map(({ name }) => name)).toEqual(['after_id', 'before_id', 'limit'])
  expect(named('createMessage').operation.parameters?.map(({ name }) => name)).toEqual([
    'anthropic-version',
    'anthropic-beta',
    'idempotency-key',
    'x-include-cost',
    'x-max-cost-usd',
    'x-spend-tag',
    'x-session-id',
  ])
})
