/**
 * The operator's API described: the OpenAPI document, made from the routes themselves, and the same as a page for people. Rules: operator-api.md "Described";
 * https://spec.openapis.org/oas/v3.1.1.html.
 */

import { toOpenAPISchema } from '@elysiajs/openapi/openapi'
import type { AnyElysia } from 'elysia'
import manifest from '../../../package.json'
import { escapeHtml } from '../../docs/markdown.ts'
import { OPERATE, operatePagesOf } from '../../docs/operate.ts'
import { referenceHtml } from '../../docs/page.ts'
import { HTML, STYLESHEET_ADDRESS } from '../../http/docs-look.ts'
import { hoist, type Json, type OpenApiDocument, type Operation } from '../../http/openapi/document.ts'
import { referenceOf } from '../../http/openapi/reference.ts'
import { makeStatic, type StaticContent } from '../../http/static-answer.ts'

const VERSION = '3.1.1'

const TAGS = [
  { name: 'Accounts', description: 'What keys are paid from' },
  { name: 'Keys', description: 'The secrets of customers' },
  { name: 'Money', description: 'Top-ups, refunds and corrections' },
  { name: 'Codes', description: 'Prepaid codes' },
  { name: 'People', description: 'Who may come in' },
  { name: 'Books', description: 'Receipts, upstream calls, use, statements, and who did what' },
  { name: 'Gateway', description: 'What it does now, its configuration and its ledger' },
]

const IDEMPOTENCY_KEY = {
  name: 'idempotency-key',
  in: 'header',
  description:
    'The same request under the same key is one act for 24 hours: a repetition shows what the first one made, without its secret',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
}

const REQUEST_ID = { description: 'The request’s id', schema: { type: 'string', pattern: '^req_[0-9a-f]{32}$' } }

/** `origin`: where operators reach this gateway. */
export function apiDocument(routes: AnyElysia, origin: string): OpenApiDocument {
  const generated = toOpenAPISchema(routes, undefined, undefined, undefined, VERSION)
  const schemas = new Map<string, unknown>()
  const paths = Object.entries(generated.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>).map(
    ([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, operation]) => [method, hoist(complete(method, operation), schemas)] as const),
      ),
    ],
  )
  return {
    openapi: VERSION,
    info: {
      title: 'Tollgate for operators',
      version: manifest.version,
      description: 'Accounts, keys and money of a gateway, for scripts, shops and bots.',
    },
    servers: [{ url: origin }],
    tags: TAGS,
    paths: Object.fromEntries(paths),
    components: {
      schemas: Object.fromEntries(schemas) as Record<string, Json>,
      headers: { 'x-request-id': REQUEST_ID },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token, `Authorization: Bearer tgop_…`' } },
    },
  }
}

function complete(method: string, operation: Operation): Operation {
  const parameters = [...(operation.parameters ?? []).map(asNumber), ...(method === 'post' ? [IDEMPOTENCY_KEY] : [])]
  const responses = Object.entries(operation.responses).map(([status, answer]) => [
    status,
    { ...asLines(answer), headers: { 'x-request-id': { $ref: '#/components/headers/x-request-id' } } },
  ])
  const { requestBody } = operation
  return {
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: asJson(requestBody) }),
    security: [{ token: [] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: Object.fromEntries(responses),
  }
}

/** Elysia also takes a number in a query as a text, which says nothing to a client. */
function asNumber(parameter: Json): Json {
  const { anyOf } = parameter['schema'] as { anyOf?: readonly Json[] }
  const number = anyOf?.find(({ type }) => type === 'integer')
  return number === undefined ? parameter : { ...parameter, schema: number }
}

/** The only text that is answered is a statement, whose lines are JSON. */
function asLines(answer: Json): Json {
  const { 'text/plain': lines } = (answer['content'] ?? {}) as Readonly<Record<string, Json>>
  return lines === undefined ? answer : { ...answer, content: { 'application/jsonl': lines } }
}

/** Bodies are JSON alone. */
function asJson({ content, ...body }: Json): Json {
  const { 'application/json': json } = content as Readonly<Record<string, Json>>
  return { ...body, content: { 'application/json': json } }
}

const FILES = '<a href="/api/openapi.json">openapi.json</a>'
const LEDE = 'Every route of the operator’s API with its fields and errors.'

/** The document's page, in the look of the pages for operators. */
export function apiPage(document: OpenApiDocument, guideUrl: string): StaticContent {
  const { article, headings } = referenceOf(document, {
    title: 'Tokens',
    secret: 'TOKEN',
    keyOf: () => '',
    opening: (baseUrl) =>
      `<p>The base address is <code>${escapeHtml(baseUrl)}</code>. A token travels as <code>Authorization: Bearer tgop_…</code>.</p>\n`,
  })
  const frame = { book: OPERATE, pages: operatePagesOf(guideUrl), stylesheet: STYLESHEET_ADDRESS }
  return makeStatic({
    text: referenceHtml({ article, headings }, frame, { path: '/api', title: 'API for operators', lede: LEDE, files: FILES }),
    type: HTML,
    caching: 'revalidate',
  })
}
