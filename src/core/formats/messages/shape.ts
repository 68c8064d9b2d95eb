/** The shape of a messages request: what is refused before any model is looked at. Rules: messages.md "Refused fields". */

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
  NOT_AN_INTEGER,
  NOT_AN_OBJECT,
  REQUIRED,
} from '../../json.ts'
import { invalid, type Refusal } from '../../refusal.ts'

/** Fields that both `POST /v1/messages` and its `count_tokens` have. Unknown fields, block types and betas pass. */
export const checkShape = (json: JsonObject): Refusal | undefined =>
  firstRefusal(
    checkNames(json),
    checkModel(json['model']),
    checkMessages(json['messages']),
    checkSystem(json['system']),
    checkTools(json['tools']),
  )

/** Fields that only a request for an answer has. `max_tokens: 0` is the vendor's way to warm a cache. */
export const checkAnswerShape = (json: JsonObject): Refusal | undefined =>
  firstRefusal(
    isGiven(json['max_tokens']) ? checkInteger(json['max_tokens'], 'max_tokens', 0) : invalid('max_tokens', REQUIRED),
    checkBoolean(json['stream'], 'stream'),
    checkRange(json['temperature'], 'temperature', 0, 1),
    checkRange(json['top_p'], 'top_p', 0, 1),
    isGiven(json['top_k']) && !Number.isInteger(json['top_k']) ? invalid('top_k', NOT_AN_INTEGER) : undefined,
    checkStopSequences(json['stop_sequences']),
  )

/** Names that decide what is checked, priced or forwarded. */
const KNOWN_NAMES = ['model', 'messages', 'max_tokens', 'system', 'stream', 'tools', 'tool_choice', 'mcp_servers', 'context_management']
const POLICED_NAMES = ['thread', 'threads', 'container', 'fallbacks', 'speed', 'service_tier', 'inference_geo', 'cache_control']
const EXACT_NAMES = new Set([...KNOWN_NAMES, ...POLICED_NAMES])

/** Some JSON parsers ignore the case of names: they would read `Model` as a second, unchecked `model`. */
function checkNames(json: JsonObject): Refusal | undefined {
  const name = Object.keys(json).find((key) => !EXACT_NAMES.has(key) && EXACT_NAMES.has(key.toLowerCase()))
  return name === undefined ? undefined : invalid(name, `Unknown field; did you mean ${name.toLowerCase()}?`)
}

function checkModel(model: unknown): Refusal | undefined {
  if (!isGiven(model) || model === '') return invalid('model', REQUIRED)
  return typeof model === 'string' ? undefined : invalid('model', NOT_A_STRING)
}

function checkMessages(messages: unknown): Refusal | undefined {
  if (!isGiven(messages)) return invalid('messages', REQUIRED)
  if (!Array.isArray(messages)) return invalid('messages', NOT_AN_ARRAY)
  if (messages.length === 0) return invalid('messages', 'at least one message is required')
  for (const [index, message] of messages.entries()) {
    const refusal = checkMessage(message, index)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

const ROLES = new Set<unknown>(['user', 'assistant', 'system'])

/** A system message inside `messages` may do without content: clients use it to change settings between turns. */
function checkMessage(message: unknown, index: number): Refusal | undefined {
  if (!isObject(message)) return invalid(`messages.${index}`, NOT_AN_OBJECT)
  const { role, content } = message
  if (!isGiven(role)) return invalid(`messages.${index}.role`, REQUIRED)
  if (!ROLES.has(role)) return invalid(`messages.${index}.role`, 'Input should be "user", "assistant" or "system"')
  if (!isGiven(content)) return role === 'system' ? undefined : invalid(`messages.${index}.content`, REQUIRED)
  return typeof content === 'string' || Array.isArray(content)
    ? undefined
    : invalid(`messages.${index}.content`, 'Input should be a string or an array of content blocks')
}

const checkSystem = (system: unknown): Refusal | undefined =>
  isGiven(system) && typeof system !== 'string' && !Array.isArray(system)
    ? invalid('system', 'Input should be a string or an array of text blocks')
    : undefined

function checkTools(tools: unknown): Refusal | undefined {
  if (!Array.isArray(tools)) return checkArray(tools, 'tools')
  const index = tools.findIndex((tool) => !isObject(tool))
  return index === -1 ? undefined : invalid(`tools.${index}`, NOT_AN_OBJECT)
}

function checkStopSequences(sequences: unknown): Refusal | undefined {
  if (!Array.isArray(sequences)) return checkArray(sequences, 'stop_sequences')
  const index = sequences.findIndex((sequence) => typeof sequence !== 'string')
  return index === -1 ? undefined : invalid(`stop_sequences.${index}`, NOT_A_STRING)
}
