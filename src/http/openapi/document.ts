/**
 * The OpenAPI description of every route, made from the routes themselves by the plugin's generator and completed with what all routes share: the two headers
 * for the key, the headers with the request's id, the errors. Rules: contract.md "Authentication", "Errors"; https://spec.openapis.org/oas/v3.1.1.html.
 */

import { toOpenAPISchema } from '@elysiajs/openapi/openapi'
import type { AnyElysia } from 'elysia'
import manifest from '../../../package.json'
import { TAG_PATTERN } from '../../core/spend-tag.ts'
import { exampleModelOf, type Facts, NO_MODEL_ID } from '../../docs/guide.ts'
import small from './examples/small.json'
import { refusalsOf } from './refusals.ts'

export type OpenApiDocument = Readonly<{
  openapi: string
  info: Readonly<Record<string, string>>
  servers: readonly Readonly<{ url: string }>[]
  tags: readonly Readonly<{ name: string; description: string }>[]
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  components: Readonly<Record<string, Readonly<Record<string, Json>>>>
}>

export type Operation = Readonly<{
  operationId: string
  tags: readonly string[]
  summary: string
  description: string
  security: readonly Readonly<Record<string, readonly string[]>>[]
  parameters?: readonly Json[]
  requestBody?: Json
  responses: Readonly<Record<string, Json>>
}>

export type Json = Readonly<Record<string, unknown>>

/** The model's id in the recorded examples; the document replaces it with the id of a model of this installation. */
const EXAMPLE_MODEL = 'claude-sonnet-4-5'

const VERSION = '3.1.1'
/** Pages for people are no part of the API. */
const PAGES = [/^\/docs/]

const TAGS = [
  { name: 'Generate', description: 'Model replies in three formats, over the same models at the same price' },
  { name: 'Models', description: 'What the key may use, and its prices' },
  { name: 'Balance', description: 'What the key may still spend. Limited per client address' },
  { name: 'Usage', description: 'What the key used and may do now. Limited per client address' },
  { name: 'Health', description: 'For load balancers; without a key' },
]

const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The raw key, `Authorization: Bearer sk-…`. Send this or `x-api-key`, never both',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'The raw key, `x-api-key: sk-…`. Not accepted under `/v1/dashboard/`',
  },
}

const REQUEST_ID = { description: 'The request’s id, the same in both headers', schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' } }
const usdHeader = (description: string) => ({
  description: `Sent with answers that are not streamed and with repetitions. USD with all digits: ${description}`,
  schema: { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' },
})
const HEADERS = {
  'x-request-id': REQUEST_ID,
  'request-id': REQUEST_ID,
  'retry-after': {
    description: 'Whole seconds to wait at least, on errors that may be retried',
    schema: { type: 'integer', minimum: 1, maximum: 30 },
  },
  'x-cost-usd': usdHeader('what the request was charged; 0.000000 on a repetition'),
  'x-balance-usd': usdHeader('what the key may still spend after the request'),
  'x-max-tokens-applied': {
    description:
      'The cap on the answer in tokens, where `x-max-cost-usd` or the key’s plan made it less than was asked. Not on repetitions',
    schema: { type: 'string', pattern: '^\\d+$' },
  },
  'idempotency-replayed': {
    description:
      '`true` when this is the stored answer to an earlier request with the same `Idempotency-Key`: the same bytes and ids, and no second charge',
    schema: { type: 'string', const: 'true' },
  },
  'x-should-retry': { description: '`false` on errors that must not be retried', schema: { type: 'string', const: 'false' } },
}
const IDS = { 'x-request-id': { $ref: '#/components/headers/x-request-id' }, 'request-id': { $ref: '#/components/headers/request-id' } }
const REPLAYED = { 'idempotency-replayed': { $ref: '#/components/headers/idempotency-replayed' } }
const APPLIED = { 'x-max-tokens-applied': { $ref: '#/components/headers/x-max-tokens-applied' } }
const MONEY = { 'x-cost-usd': { $ref: '#/components/headers/x-cost-usd' }, 'x-balance-usd': { $ref: '#/components/headers/x-balance-usd' } }

/** The document of `app`'s routes, with the address that the operator set, and examples that name a model of this installation. */
export function openApiDocument(app: AnyElysia, { baseUrl, catalog }: Pick<Facts, 'baseUrl' | 'catalog'>): OpenApiDocument {
  const generated = toOpenAPISchema(app, { paths: PAGES }, undefined, undefined, VERSION)
  const schemas = new Map<string, unknown>()
  const paths = Object.entries(generated.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>).map(
    ([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, hoist(complete(operation), schemas)])),
    ],
  )
  const document = {
    openapi: VERSION,
    info: {
      title: 'Tollgate',
      version: manifest.version,
      description: 'A prepaid gateway for language models: one key, three formats, one price.',
    },
    servers: [{ url: baseUrl }],
    tags: TAGS,
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas), headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  }
  const modelId = exampleModelOf(catalog)?.id ?? NO_MODEL_ID
  // The configuration allows no character in an id that JSON would have to escape.
  return JSON.parse(JSON.stringify(document).replaceAll(EXAMPLE_MODEL, () => modelId))
}

/** Adds what all operations with the same tag share, and the errors that this operation can answer with. */
function complete(operation: Operation): Operation {
  const { operationId, tags } = operation
  const answered = Object.entries<ResponseObject>({ ...operation.responses, ...refusalsOf(operationId) })
  const isBilled = BILLED.has(operationId)
  const own = operation.parameters?.filter(({ name }) => !KEY_HEADER_NAMES.has(name)) ?? []
  const parameters = [...own, ...(isBilled ? BILLED_HEADERS : [])]
  const example = (small as Readonly<Record<string, unknown>>)[operationId]
  return {
    ...operation,
    security: securityOf(tags[0]),
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: Object.fromEntries(
      answered.map(([status, answer]) => [
        status,
        {
          ...(status === '200' && example !== undefined ? withExample(answer, example) : answer),
          headers: { ...IDS, ...(status === '200' && isBilled ? { ...MONEY, ...APPLIED, ...REPLAYED } : {}), ...answer.headers },
        },
      ]),
    ),
  }
}

const BILLED: ReadonlySet<string> = new Set(['createMessage', 'createChatCompletion', 'createResponse'])

/** Headers that all formats read. */
const BILLED_HEADERS = [
  {
    name: 'idempotency-key',
    in: 'header',
    description:
      'Requests with the same key within 24 hours count as one: a repetition gets the first one’s answer and costs nothing, even while the first one runs',
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
  {
    name: 'x-include-cost',
    in: 'header',
    description:
      'With `true`, the `usage` of the answer, in a stream the last `usage`, also says what the request cost (`cost_usd`, `cost_usd_exact`)',
    schema: { type: 'string', enum: ['true'] },
  },
  {
    name: 'x-max-cost-usd',
    in: 'header',
    description:
      'The most that the request may cost, in USD. The cap on the answer (`max_tokens`) is lowered until what is reserved fits; where not even one token fits, or not the thinking that is asked for, the answer is 400 and free. The key’s plan may have such a cap, too: the lesser counts',
    schema: { type: 'string', pattern: '^\\d{1,9}(\\.\\d{1,12})?$' },
  },
  {
    name: 'x-spend-tag',
    in: 'header',
    description:
      'A name for what the request is for, such as a team or an end user: it stands on the receipt, and what was spent can be asked by it. It changes nothing else',
    schema: { type: 'string', pattern: TAG_PATTERN },
  },
  {
    name: 'x-session-id',
    in: 'header',
    description:
      'An id of the conversation, so that all its turns go to the upstream that has their prompt cached. Optional: without it the gateway recognises a conversation by its beginning',
    schema: { type: 'string' },
  },
]

/** Left out of `parameters`: the security schemes describe them. */
const KEY_HEADER_NAMES: ReadonlySet<unknown> = new Set(['authorization', 'x-api-key'])

function securityOf(tag: string | undefined): Operation['security'] {
  if (tag === 'Health') return []
  return tag === 'Balance' || tag === 'Usage' ? [{ bearer: [] }] : [{ bearer: [] }, { apiKey: [] }]
}

type ResponseObject = Json & Readonly<{ headers?: Json; content?: Readonly<Record<string, Json>> }>

function withExample(answer: ResponseObject, value: unknown): ResponseObject {
  const content = Object.entries(answer.content ?? {}).map(([type, media]) => [type, { ...media, examples: { example: { value } } }])
  return { ...answer, content: Object.fromEntries(content) }
}

/**
 * Moves named schemas to the components, each once, and drops `additionalProperties: false`, which Elysia adds for its own checks: an answer may get new
 * fields.
 */
export function hoist(value: unknown, schemas: Map<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const { title, ...rest } = value as Readonly<Record<string, unknown>>
  const members = Object.entries(typeof title === 'string' ? rest : value)
    .filter(([name, member]) => name !== 'additionalProperties' || member !== false)
    .map(([name, member]) => [name, VALUES.has(name) ? member : hoist(member, schemas)])
  const plain = Object.fromEntries(members)
  if (typeof title !== 'string') return plain
  schemas.set(title, plain)
  return { $ref: `#/components/schemas/${title}` }
}

/** Members that hold values, not schemas; they are copied as they are. */
const VALUES = new Set(['examples', 'const', 'enum', 'default'])
