/** A JSON mode becomes a hint in the system prompt. A schema is part of the hint and is not enforced. Rules: translation.md "JSON modes". */

import type { StrictSchema } from '../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../json.ts'

export type JsonMode =
  | Readonly<{ kind: 'text' }>
  | Readonly<{ kind: 'object' }>
  /** `strict`: what chat calls `json_schema`, of a schema that the client wants enforced. */
  | Readonly<{ kind: 'schema'; schema: unknown; strict?: JsonObject | undefined }>

const OBJECT = 'Respond with a single valid JSON object and nothing else: no prose, no Markdown code fences.'

/** Undefined when the answer may be plain text. A mode without a schema asks for any JSON object. */
export function jsonHint(mode: JsonMode): string | undefined {
  if (mode.kind === 'text') return undefined
  if (mode.kind === 'object' || mode.schema === undefined || mode.schema === null) return OBJECT
  return `Respond with a single valid JSON value and nothing else: no prose, no Markdown code fences. It must conform to this JSON Schema: ${JSON.stringify(mode.schema)}`
}

/** A schema mode as the client's format writes it; `definition` has `name`, `schema`, `strict` and `description`. */
export function schemaMode(definition: JsonObject): JsonMode {
  const { name, description, schema, strict } = definition
  if (strict !== true || !isObject(schema)) return { kind: 'schema', schema }
  const named = { name: name ?? 'answer', ...(typeof description === 'string' ? { description } : {}), schema, strict }
  return { kind: 'schema', schema, strict: named }
}

/** Undefined where nothing is to be enforced. */
export function strictSchema(mode: JsonMode): StrictSchema | undefined {
  const hint = jsonHint(mode)
  return mode.kind === 'schema' && mode.strict !== undefined && hint !== undefined ? { schema: mode.strict, hint } : undefined
}
