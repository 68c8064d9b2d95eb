/**
 * The OpenAPI document as a page for people: every operation with its key, parameters, fields, examples and errors. The server renders it, because every
 * viewer of OpenAPI needs scripts and styles that a strict Content-Security-Policy blocks; nested fields are `<details>` elements. Source: OpenAPI 3.1; JSON
 * Schema 2020-12.
 */

import { escapeHtml, type Heading } from '../../docs/markdown.ts'
import type { Json, OpenApiDocument, Operation } from './document.ts'

type Media = Readonly<{ schema: Json; examples?: Readonly<Record<string, Example>>; 'x-event-schema'?: Json }>
type Example = Readonly<{ summary?: string; value: unknown }>
type ResponseObject = Readonly<{ description: string; headers?: Readonly<Record<string, Json>>; content?: Readonly<Record<string, Media>> }>
type Parameter = Readonly<{ name: string; in: string; required?: boolean; description?: string; schema: Json }>

/** Escapes the text as HTML and turns `` `code` `` into `<code>code</code>`. */
const inline = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

/** What differs between the reference of customers and that of operators. `opening`: HTML under the first heading. `secret`: the shell's variable with the secret. */
export type Words = Readonly<{
  title: string
  opening: (baseUrl: string) => string
  secret: string
  /** How the secret of an operation travels, as HTML; '': the page says so once. */
  keyOf: (operation: Operation) => string
}>

/** The page's HTML, and its headings for the table of contents. */
export function referenceOf(
  document: OpenApiDocument,
  words: Words = wordsFor(document),
): Readonly<{ article: string; headings: readonly Heading[] }> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sorted = document.tags.flatMap(({ name }) => operations.filter(({ operation }) => operation.tags[0] === name))
  const writer = new Writer(document, words)
  return {
    article: `${openingOf(document, words)}${sorted.map(({ path, method, operation }) => writer.operation(path, method, operation)).join('')}`,
    headings: [
      { level: 2, id: 'keys', text: words.title },
      ...sorted.map(({ operation }) => ({ level: 2, id: operation.operationId, text: operation.summary })),
    ],
  }
}

const baseUrlOf = ({ servers }: OpenApiDocument): string => servers[0]?.url ?? ''

const openingOf = (document: OpenApiDocument, { title, opening }: Words): string =>
  `<h2 id="keys"><a class="anchor" href="#keys">${title}</a></h2>\n${opening(baseUrlOf(document))}`

/** The words for customers, who have two headers for their key. */
function wordsFor(document: OpenApiDocument): Words {
  const schemes = Object.values(document.components['securitySchemes'] ?? {})
  const ways = schemes.map(({ description }) => `<li>${inline(String(description))}.</li>`).join('')
  return {
    title: 'Keys',
    secret: 'KEY',
    keyOf,
    opening: (baseUrl) => `<p>The base address is <code>${escapeHtml(baseUrl)}</code>. A key travels in one of two headers:</p>
<ul>${ways}</ul>
<p>Every answer carries <code>x-request-id</code> and <code>request-id</code>, the id to name when you ask for help.</p>
`,
  }
}

class Writer {
  readonly #document: OpenApiDocument
  readonly #baseUrl: string

  readonly #words: Words

  constructor(document: OpenApiDocument, words: Words) {
    this.#document = document
    this.#words = words
    this.#baseUrl = baseUrlOf(document)
  }

  operation(path: string, method: string, operation: Operation): string {
    const { operationId: id, summary, description, tags } = operation
    const body = operation.requestBody as Readonly<{ content: Readonly<Record<string, Media>> }> | undefined
    const request = body?.content['application/json']
    const { 200: ok, ...errors } = operation.responses as unknown as Readonly<Record<string, ResponseObject>>
    return `<section class="operation" aria-labelledby="${id}">
<p class="eyebrow">${escapeHtml(tags[0] ?? '')}</p>
<h2 id="${id}"><a class="anchor" href="#${id}">${escapeHtml(summary)}</a></h2>
<p class="call"><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code></p>
<p>${inline(description)}</p>
${this.#words.keyOf(operation)}
${this.#parameters((operation.parameters ?? []) as readonly unknown[] as readonly Parameter[], id)}
${request === undefined ? '' : `<h3 id="${id}-request">Request</h3>${this.#about(request.schema)}${this.#fields(request.schema)}`}
${this.#examples(path, method, operation, request)}
${ok === undefined ? '' : this.#answer(id, ok)}
${Object.keys(errors).length === 0 ? '' : this.#errors(id, errors)}
</section>
`
  }

  #parameters(parameters: readonly Parameter[], id: string): string {
    if (parameters.length === 0) return ''
    const rows = parameters.map(({ name, in: where, required, description, schema }) => {
      const said = description ?? (schema['description'] as string | undefined) ?? ''
      return `<li>${this.#signature(name, schema, required === true, where)}${said === '' ? '' : `<p>${sentence(said)}</p>`}</li>`
    })
    return `<h3 id="${id}-parameters">Parameters</h3><ul class="fields">${rows.join('')}</ul>`
  }

  /** The example requests as `curl` commands. */
  #examples(path: string, method: string, { operationId: id, security }: Operation, request: Media | undefined): string {
    const examples: readonly (readonly [string, Example])[] = Object.entries(
      request?.examples ?? { example: { summary: 'A request', value: undefined } },
    )
    return examples
      .map(([, { summary, value }]) => {
        const key = security.length === 0 ? '' : ` \\\n  -H "authorization: Bearer $${this.#words.secret}"`
        const body = value === undefined ? '' : ` \\\n  -d ${quoted(JSON.stringify(value, null, 2))}`
        const how = value !== undefined && (value as { stream?: boolean }).stream === true ? 'curl -N' : 'curl'
        const address = `${this.#baseUrl}${path.replace('{id}', exampleModelOf(this.#document))}`
        return details(
          `${summary ?? 'A request'}: request`,
          code(`${how} ${method === 'get' ? '' : '-X POST '}${address}${key}${body}`, `${id}, request`),
        )
      })
      .join('')
  }

  #answer(id: string, { description, content = {} }: ResponseObject): string {
    const parts = Object.entries(content).map(([type, media]) => {
      const { schema, examples = {}, 'x-event-schema': event } = media
      const samples = Object.values(examples).map(({ summary, value }) =>
        details(
          `${summary ?? 'An answer'}: answer`,
          code(typeof value === 'string' ? value : JSON.stringify(value, null, 2), `${id}, answer`),
        ),
      )
      const fields = event === undefined ? this.#fields(schema) : `<p>${inline(String(schema['description']))}</p>${this.#fields(event)}`
      return `<p><code>${escapeHtml(type)}</code></p>${fields}${samples.join('')}`
    })
    return `<h3 id="${id}-answer">Answer</h3><p>${sentence(description)}</p>${parts.join('')}`
  }

  #errors(id: string, errors: Readonly<Record<string, ResponseObject>>): string {
    const rows = Object.entries(errors).flatMap(([status, { content = {} }]) => {
      const { examples = {}, schema } = content['application/json'] ?? { schema: {} }
      const cases = Object.values(examples)
      return cases.length === 0
        ? [`<li><p class="signature"><strong>${status}</strong></p>${this.#about(schema)}</li>`]
        : cases.map((one) => errorOf(status, one))
    })
    return `<h3 id="${id}-errors">Errors</h3>${details(rows.length === 1 ? '1 case' : `${rows.length} cases`, `<ul class="fields">${rows.join('')}</ul>`)}`
  }

  #about(schema: Json): string {
    const { description } = this.#resolve(schema)
    return typeof description === 'string' ? `<p>${sentence(description)}</p>` : ''
  }

  /** The fields of an object as a list; the fields of objects inside it are in a `<details>`. */
  #fields(schema: Json): string {
    const { properties = {}, required = [] } = this.#resolve(schema) as {
      properties?: Readonly<Record<string, Json>>
      required?: readonly string[]
    }
    const rows = Object.entries(properties).map(([name, member]) => {
      const said = this.#resolve(member)['description'] ?? member['description']
      const inner = this.#objectsIn(member).map((object) => this.#fields(object))
      return `<li>${this.#signature(name, member, required.includes(name))}${typeof said === 'string' ? `<p>${sentence(said)}</p>` : ''}${
        inner.length === 0 ? '' : details(`Fields of ${name}`, inner.join(''))
      }</li>`
    })
    return rows.length === 0 ? '' : `<ul class="fields">${rows.join('')}</ul>`
  }

  #signature(name: string, schema: Json, isRequired: boolean, where?: string): string {
    const place = where === undefined ? '' : ` <span class="type">in ${where}</span>`
    const need = isRequired ? ' <strong class="required">required</strong>' : ''
    return `<p class="signature"><code>${escapeHtml(name)}</code> <span class="type">${inline(this.#typeOf(schema))}</span>${place}${need}</p>`
  }

  /** The object schemas inside a field's schema: the field itself, the items of an array, the alternatives of `anyOf`. */
  #objectsIn(schema: Json): readonly Json[] {
    const resolved = this.#resolve(schema)
    const { properties, items, anyOf } = resolved as { properties?: object; items?: Json; anyOf?: readonly Json[] }
    if (properties !== undefined) return Object.keys(properties).length === 0 ? [] : [resolved]
    if (items !== undefined) return this.#objectsIn(items)
    return (anyOf ?? []).flatMap((one) => this.#objectsIn(one))
  }

  #typeOf(schema: Json): string {
    const resolved = this.#resolve(schema)
    const {
      type,
      items,
      anyOf,
      enum: values,
      const: only,
    } = resolved as {
      type?: string | readonly string[]
      items?: Json
      anyOf?: readonly Json[]
      enum?: readonly unknown[]
      const?: unknown
    }
    if (only !== undefined) return `always \`${JSON.stringify(only)}\``
    if (values !== undefined) return `one of ${values.map((value) => `\`${String(value)}\``).join(', ')}`
    if (anyOf !== undefined) return [...new Set(anyOf.map((one) => this.#typeOf(one)))].join(' or ')
    if (items !== undefined) return `array of ${this.#typeOf(items)}`
    const name = type === undefined ? 'anything' : typeof type === 'string' ? type : type.join(' or ')
    return `${name}${boundsOf(resolved)}`
  }

  #resolve(schema: Json): Json {
    const { $ref } = schema
    if (typeof $ref !== 'string') return schema
    return this.#document.components['schemas']?.[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {}
  }
}

/** Error types after which a client may send the request again; after all others it must not. */
const RETRIED_TYPES: ReadonlySet<string> = new Set(['rate_limit_error', 'server_error'])

function keyOf({ security }: Operation): string {
  const names = security.flatMap((way) => Object.keys(way))
  if (names.length === 0) return '<p>Key: none.</p>'
  return names.includes('apiKey')
    ? '<p>Key: <code>Authorization: Bearer</code> or <code>x-api-key</code>.</p>'
    : '<p>Key: <code>Authorization: Bearer</code> only.</p>'
}

function boundsOf({ minimum, maximum, format, default: given }: Json): string {
  const range =
    minimum === undefined
      ? maximum === undefined
        ? ''
        : `, at most ${maximum}`
      : maximum === undefined
        ? `, ${minimum} or more`
        : `, ${minimum} to ${maximum}`
  return `${range}${format === undefined ? '' : `, ${format}`}${given === undefined ? '' : `, default \`${String(given)}\``}`
}

/** Starts with a capital and ends with a full stop, which the descriptions in the document lack. */
const sentence = (text: string): string => {
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return inline(/[.…?]$/.test(first) ? first : `${first}.`)
}

function errorOf(status: string, { summary = '', value }: Example): string {
  const { type, message } = (value as { error: { type: string; message: string } }).error
  const retry = RETRIED_TYPES.has(type) ? 'may be sent again, after <code>Retry-After</code>' : 'must not be sent again as it is'
  return `<li><p class="signature"><strong>${status}</strong> <code>${escapeHtml(type)}</code> <span class="type">${retry}</span></p><p><code>${escapeHtml(message)}</code></p><p>${sentence(summary)}</p></li>`
}

const details = (summary: string, content: string): string =>
  `<details class="more"><summary>${escapeHtml(summary)}</summary>${content}</details>`

const code = (text: string, about: string): string =>
  `<pre tabindex="0" role="group" aria-label="Example: ${escapeHtml(about)}"><code>${escapeHtml(text.trimEnd())}</code></pre>`

/** Quotes a text for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

function exampleModelOf({ paths }: OpenApiDocument): string {
  const content = (paths['/v1/models/{id}']?.['get']?.responses['200'] as unknown as ResponseObject | undefined)?.content
  return String((content?.['application/json']?.examples?.['example']?.value as { id?: string } | undefined)?.id ?? '{id}')
}
