/** A value that fits a JSON Schema: arguments for a tool, or a structured answer. It understands the keywords that clients really use; source: JSON Schema 2020-12. */

import { isObject, type JsonObject } from '../core/json.ts'

/** How deep a sample goes: schemas may refer to themselves. */
const DEPTH_MAX = 8

/** The smallest value that fits: an object has only its required properties. */
export function sampleOf(schema: JsonObject): unknown {
  return sample(schema, 'value', schema, 0)
}

/** `name`: the property's name, so that strings of different properties differ. */
function sample(given: unknown, name: string, root: JsonObject, depth: number): unknown {
  const schema = resolve(given, root)
  if ('const' in schema) return schema['const']
  for (const word of ['enum', 'examples']) {
    const choices = schema[word]
    if (Array.isArray(choices) && choices.length > 0) return choices[0]
  }
  if ('default' in schema) return schema['default']
  const branch = firstOf(schema['anyOf']) ?? firstOf(schema['oneOf'])
  if (branch !== undefined) return depth >= DEPTH_MAX ? null : sample(branch, name, root, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return sampleObject(schema, root, depth)
    case 'array':
      return sampleArray(schema, name, root, depth)
    case 'integer':
    case 'number':
      return sampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return sampleString(schema, name)
  }
}

/** Follows a reference inside the schema, and lays the parts of `allOf` over each other. */
function resolve(asked: unknown, root: JsonObject): JsonObject {
  let schema = objectOf(asked)
  for (let hops = 0; typeof schema['$ref'] === 'string' && hops < DEPTH_MAX; hops++) schema = followed(schema['$ref'], root)
  if (!Array.isArray(schema['allOf'])) return schema
  let whole: JsonObject = schema
  for (const given of schema['allOf'].filter(isObject)) {
    const part = typeof given['$ref'] === 'string' ? followed(given['$ref'], root) : given
    whole = Object.assign({}, whole, part, {
      properties: { ...objectOf(whole['properties']), ...objectOf(part['properties']) },
      required: [...listOf(whole['required']), ...listOf(part['required'])],
    })
  }
  return whole
}

function followed(reference: string, root: JsonObject): JsonObject {
  const path = reference.replace(/^#\/?/, '').split('/')
  const found = path.filter((step) => step !== '').reduce<unknown>((at, step) => objectOf(at)[decodeURIComponent(step)], root)
  return objectOf(found)
}

function typeOf(schema: JsonObject): unknown {
  const { type } = schema
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null'
  if (type !== undefined) return type
  return 'properties' in schema ? 'object' : 'items' in schema ? 'array' : 'string'
}

function sampleObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (depth >= DEPTH_MAX) return {}
  const properties = objectOf(schema['properties'])
  const required = listOf(schema['required']).filter((name) => typeof name === 'string')
  return Object.fromEntries(required.map((name) => [name, sample(properties[name], name, root, depth + 1)]))
}

function sampleArray(schema: JsonObject, name: string, root: JsonObject, depth: number): readonly unknown[] {
  if (depth >= DEPTH_MAX || schema['maxItems'] === 0) return []
  const items = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : undefined
  const item = items?.[0] ?? schema['items']
  const length = Math.max(1, Math.min(numberOf(schema['minItems']) ?? items?.length ?? 1, 64))
  return Array.from({ length }, (_, index) => sample(items?.[index] ?? item, name, root, depth + 1))
}

function sampleNumber(schema: JsonObject): number {
  const above = numberOf(schema['exclusiveMinimum'])
  const below = numberOf(schema['exclusiveMaximum'])
  const lowest = numberOf(schema['minimum']) ?? (above === undefined ? undefined : above + 1)
  const highest = numberOf(schema['maximum']) ?? (below === undefined ? undefined : below - 1)
  const step = numberOf(schema['multipleOf']) ?? 1
  const wanted = Math.ceil(Math.max(lowest ?? 1, Math.min(1, highest ?? 1)) / step) * step
  return highest !== undefined && wanted > highest ? highest : wanted
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  email: 'simulator@example.com',
  hostname: 'example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
}

function sampleString(schema: JsonObject, name: string): string {
  const format = FORMATS[String(schema['format'])]
  if (format !== undefined) return format
  const text = `simulated ${name}`.padEnd(Math.min(numberOf(schema['minLength']) ?? 0, 4_096), '.')
  return text.slice(0, numberOf(schema['maxLength']) ?? text.length)
}

const firstOf = (branches: unknown): unknown =>
  listOf(branches).find((branch) => objectOf(branch)['type'] !== 'null') ?? listOf(branches)[0]
const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)
