/**
 * `/docs/api` shows what `/openapi.json` says: every operation, field, example and error, under the policy of the guide, and nothing that could become markup.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { OpenApiDocument } from '../../src/http/openapi/document.ts'
import { referenceOf } from '../../src/http/openapi/reference.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

let gateway: TestGateway
let page: string
let response: Response
let document: OpenApiDocument

beforeAll(async () => {
  gateway = await startTestGateway({ publicUrl: 'https://llm.example', corsOrigins: ['https://front.example'] })
  response = await fetch(`${gateway.url}/docs/api`)
  page = await response.text()
  document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as OpenApiDocument
})

afterAll(() => gateway.stop())

const escaped = (text: string): string => Bun.escapeHTML(text)
/** Text as a reader sees it. */
const plain = (html: string): string => html.replaceAll(/<[^>]*>/g, '')

/** Every member of every object in a schema, by name. */
function fieldsOf(schema: unknown, names = new Set<string>()): ReadonlySet<string> {
  if (typeof schema !== 'object' || schema === null) return names
  const { properties = {}, $ref, examples: _, ...rest } = schema as { properties?: object; $ref?: string; examples?: unknown }
  for (const name of Object.keys(properties)) names.add(name)
  for (const child of [...Object.values(properties), ...Object.values(rest)]) fieldsOf(child, names)
  return $ref === undefined ? names : fieldsOf(document.components['schemas']?.[$ref.split('/').at(-1) ?? ''], names)
}

test('it is a page of the guide: no script, nothing of another host, the same policy, its place in the menu', () => {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(response.headers.get('content-security-policy')).toStartWith("default-src 'none'; style-src 'self'; img-src 'self'")
  expect(response.headers.get('content-security-policy')).not.toContain('unsafe')
  expect(page).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:/i)
  const loaded = [...page.matchAll(/<(?:link|img|iframe|source|object)\b[^>]*(?:href|src|data)="([^"]*)"/g)].map(([, address]) => address)
  expect(loaded.every((address) => address?.startsWith('/docs/'))).toBe(true)
  expect(page).toContain('<a href="/docs/api" aria-current="page">')
})

test('every operation is there once, with its path, its words, its fields, and lines to paste', () => {
  let count = 0
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      count++
      const section = page.split(`aria-labelledby="${operation.operationId}"`)[1]?.split('</section>')[0] ?? ''
      expect([path, page.split(`<h2 id="${operation.operationId}">`).length]).toEqual([path, 2])
      expect(section).toContain(`<span class="method">${method.toUpperCase()}</span> <code>${path}</code>`)
      expect(plain(section)).toContain(escaped(operation.description.replaceAll('`', '')))
      const { requestBody, responses, parameters = [] } = operation
      for (const name of fieldsOf([requestBody, responses['200']]))
        expect([path, name, section.includes(`<code>${escaped(name)}</code>`)]).toEqual([path, name, true])
      for (const { name } of parameters) expect(section).toContain(`<code>${String(name)}</code>`)
      expect(section).toContain(`https://llm.example${path.replace('{id}', 'sonnet')}`)
      expect(page).toContain(`<a href="#${operation.operationId}">`)
    }
  }
  expect(count).toBe(17)
})

test('every example and every error of the document is shown', () => {
  let errors = 0
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    const section = page.split(`aria-labelledby="${operation.operationId}"`)[1]?.split('</section>')[0] ?? ''
    for (const [status, answer] of Object.entries(operation.responses)) {
      const content = (answer['content'] ?? {}) as Record<string, { examples?: Record<string, { value: unknown }> }>
      for (const { value } of Object.values(content).flatMap(({ examples = {} }) => Object.values(examples))) {
        if (status === '200') {
          const text = typeof value === 'string' ? value.trimEnd() : JSON.stringify(value, null, 2)
          expect(section).toContain(`<code>${escaped(text)}</code>`)
          continue
        }
        errors++
        const { type, message } = (value as { error: { type: string; message: string } }).error
        expect(section).toContain(`<strong>${status}</strong> <code>${type}</code>`)
        expect(section).toContain(`<code>${escaped(message)}</code>`)
      }
    }
  }
  expect(errors).toBeGreaterThan(80)
})

test('what the document says is shown as text, never obeyed as markup', () => {
  const evil = '<img src=x onerror=alert(1)>"\'`<b>`'
  const operation = {
    operationId: 'evil',
    tags: ['T'],
    summary: evil,
    description: evil,
    security: [],
    parameters: [{ name: evil, in: 'query', schema: { type: 'string', description: evil, default: evil } }],
    requestBody: {
      content: {
        'application/json': {
          schema: { type: 'object', properties: { [evil]: { const: evil } } },
          examples: { a: { summary: evil, value: evil } },
        },
      },
    },
    responses: {
      200: { description: evil, content: { [evil]: { schema: { enum: [evil] }, examples: { a: { value: evil } } } } },
      400: { description: evil },
    },
  }
  const { article } = referenceOf({
    openapi: '3.1.1',
    info: {},
    servers: [{ url: evil }],
    tags: [{ name: 'T', description: evil }],
    paths: { '/x': { post: operation } },
    components: { securitySchemes: { a: { description: evil } } },
  })
  expect(article).not.toMatch(/<img|<b>/)
  expect(article.split('&lt;img src=x').length).toBeGreaterThan(8)
})

test('who may read it from a browser is who may read the API', async () => {
  const from = async (origin: string) => (await fetch(`${gateway.url}/openapi.json`, { headers: { origin } })).headers
  expect((await from('https://front.example')).get('access-control-allow-origin')).toBe('https://front.example')
  const other = await from('https://other.example')
  expect([other.get('access-control-allow-origin'), other.get('vary')]).toEqual([null, 'origin, accept-encoding'])
})
