/** The shape of a chat request: what is refused before any model is looked at. Rules: contract.md "Chat request"; chat.md "Request". */

import {
  checkArray,
  checkBoolean,
  checkInteger,
  checkRange,
  firstRefusal,
  isGiven,
  isObject,
  type JsonObject,
  NOT_A_STRING,
  NOT_AN_ARRAY,
  NOT_AN_OBJECT,
  REQUIRED,
} from '../../json.ts'
import { isBlank } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { isRole, type MessageFields, ROLES } from './messages.ts'

export type Shape = Readonly<{ modelId: string; messages: readonly MessageFields[]; stopSequences: readonly string[] }>

export function readShape(json: JsonObject): Shape | Refusal {
  const { model } = json
  if (!isGiven(model) || model === '') return invalid('model', REQUIRED)
  if (typeof model !== 'string') return invalid('model', NOT_A_STRING)
  const messages = readMessageShapes(json['messages'])
  if (messages instanceof Refusal) return messages
  const stopSequences = readStop(json['stop'])
  if (stopSequences instanceof Refusal) return stopSequences
  return checkFields(json) ?? { modelId: model, messages, stopSequences }
}

function readMessageShapes(messages: unknown): readonly MessageFields[] | Refusal {
  if (!isGiven(messages)) return invalid('messages', REQUIRED)
  if (!Array.isArray(messages)) return invalid('messages', NOT_AN_ARRAY)
  if (messages.length === 0) return invalid('messages', 'at least one message is required')
  for (let index = 0; index < messages.length; index++) {
    const fields: unknown = messages[index]
    if (!isObject(fields)) return invalid(`messages[${index}]`, NOT_AN_OBJECT)
    const { role } = fields
    if (!isGiven(role)) return invalid(`messages[${index}].role`, REQUIRED)
    if (!isRole(role)) return invalid(`messages[${index}].role`, `Input should be one of ${ROLES.join(', ')}`)
  }
  return messages
}

const checkFields = (json: JsonObject): Refusal | undefined =>
  firstRefusal(
    checkInteger(json['max_completion_tokens'], 'max_completion_tokens', 1),
    checkInteger(json['max_tokens'], 'max_tokens', 1),
    checkRange(json['temperature'], 'temperature', 0, 2),
    checkRange(json['top_p'], 'top_p', 0, 1),
    checkInteger(json['top_k'], 'top_k', 0),
    checkInteger(json['n'], 'n', 1),
    checkBoolean(json['stream'], 'stream'),
    checkBoolean(json['parallel_tool_calls'], 'parallel_tool_calls'),
    checkArray(json['tools'], 'tools'),
    checkArray(json['functions'], 'functions'),
    isGiven(json['stream_options']) && !isObject(json['stream_options']) ? invalid('stream_options', NOT_AN_OBJECT) : undefined,
  )

/** One stop string or several. Repetitions are left out, and strings without a visible character, which native refuses. */
function readStop(stop: unknown): readonly string[] | Refusal {
  if (!isGiven(stop)) return []
  const entries: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  if (!entries.every((entry) => typeof entry === 'string')) return invalid('stop', 'Input should be a string or an array of strings')
  return [...new Set(entries)].filter((entry) => !isBlank(entry))
}

export const includesUsageChunk = (json: JsonObject): boolean =>
  isObject(json['stream_options']) && json['stream_options']['include_usage'] === true

export const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
