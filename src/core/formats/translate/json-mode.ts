/** A JSON mode becomes a hint in the system prompt. A schema is part of the hint and is not enforced. Rules: translation.md "JSON modes". */

export type JsonMode = Readonly<{ kind: 'text' }> | Readonly<{ kind: 'object' }> | Readonly<{ kind: 'schema'; schema: unknown }>

const OBJECT = 'Respond with a single valid JSON object and nothing else: no prose, no Markdown code fences.'

/** Undefined when the answer may be plain text. A mode without a schema asks for any JSON object. */
export function jsonHint(mode: JsonMode): string | undefined {
  if (mode.kind === 'text') return undefined
  if (mode.kind === 'object' || mode.schema === undefined || mode.schema === null) return OBJECT
  return `Respond with a single valid JSON value and nothing else: no prose, no Markdown code fences. It must conform to this JSON Schema: ${JSON.stringify(mode.schema)}`
}
