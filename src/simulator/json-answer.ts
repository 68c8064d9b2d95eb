/** Structured answers: whether a request wants JSON, and the object that it gets. Rules: native.md "Request fields"; translation.md "JSON modes". */

import { isObject, type JsonObject } from '../core/json.ts'
import { readBalancedJson } from './balanced-json.ts'
import type { Prompt } from './prompt.ts'
import type { NativeRequest } from './request.ts'
import { sampleOf } from './schema-sample.ts'
import { shorten } from './sentences.ts'

/** The JSON text to answer with; undefined when the request wants prose. */
export function jsonAnswer(request: NativeRequest, prompt: Prompt): string | undefined {
  if (request.schema !== undefined) return JSON.stringify(sampleOf(request.schema))
  const hint = request.system.at(-1)?.['text']
  if (typeof hint !== 'string') return undefined
  const at = hint.search(WANTS_JSON)
  if (at === -1) return undefined
  const schema = quotedSchema(hint, at)
  return JSON.stringify(schema === undefined ? { simulator: 'Tollgate', prompt: shorten(prompt.text) } : sampleOf(schema))
}

/** It matches a demand for JSON and not a mere mention: system prompts of coding agents mention JSON in passing. */
const WANTS_JSON = /\b(?:respond|reply|answer|return|output)\b[^.\n]{0,80}\bJSON (?:object|value)\b/i

/** The first object after the demand that looks like a schema. */
function quotedSchema(text: string, from: number): JsonObject | undefined {
  for (let at = text.indexOf('{', from); at !== -1; at = text.indexOf('{', at + 1)) {
    const found = readBalancedJson(text, at)
    if (found === undefined) continue
    return isObject(found.value) && ['type', 'properties', '$ref', 'anyOf'].some((word) => word in Object(found.value))
      ? found.value
      : undefined
  }
  return undefined
}
