/**
 * The schema that an answer must have: a setting of the chat request, or the sentence at the end of the system prompt where the server takes no such setting.
 * Rules: openai.md "Native requests"; translation.md "JSON modes".
 */

import type { ChatDialect, StrictSchema } from '../../../chat-dialect.ts'
import { isGiven, isObject, type JsonObject } from '../../../json.ts'
import { invalid, Refusal } from '../../../refusal.ts'
import { jsonHint } from '../../translate/json-mode.ts'

/** `system`: the native system prompt as it is to be told. */
export type AnswerFormat = Readonly<{ fields: JsonObject; system: unknown }>

/** `strict`: of a request whose native body has the hint already. */
export function answerFormat(json: JsonObject, strict: StrictSchema | undefined, dialect: ChatDialect): AnswerFormat | Refusal {
  const { system } = json
  const asked = strict ?? nativeSchema(json)
  if (asked instanceof Refusal) return asked
  if (asked === undefined) return { fields: {}, system }
  if (dialect.dropFields.includes(FIELD)) return { fields: {}, system: strict === undefined ? withHint(system, asked.hint) : system }
  const fields = { [FIELD]: { type: 'json_schema', json_schema: asked.schema } }
  return { fields, system: strict === undefined ? system : withoutHint(system, asked.hint) }
}

const FIELD = 'response_format'

/** Where a native client asks for one, of today and of before. */
function nativeSchema({ output_config: config, output_format: older }: JsonObject): StrictSchema | undefined | Refusal {
  const own = isObject(config) ? config['format'] : undefined
  const [format, path] = isGiven(own) ? [own, 'output_config.format'] : [older, 'output_format']
  if (!isGiven(format)) return undefined
  const { type, schema } = isObject(format) ? format : {}
  if (type !== 'json_schema') return invalid(`${path}.type`, 'is not supported by this model')
  return { schema: { name: 'answer', schema, strict: true }, hint: jsonHint({ kind: 'schema', schema }) ?? '' }
}

const textBlock = (text: string): JsonObject => ({ type: 'text', text })

function withHint(system: unknown, hint: string): unknown {
  if (typeof system === 'string') return [textBlock(system), textBlock(hint)]
  return [...(Array.isArray(system) ? system : []), textBlock(hint)]
}

/** The hint is the last block, or the last line of the only text. */
function withoutHint(system: unknown, hint: string): unknown {
  if (Array.isArray(system)) return system.slice(0, -1)
  const text = String(system)
  return text === hint ? undefined : text.slice(0, -hint.length - 1)
}
