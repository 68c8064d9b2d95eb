/** A chat request to a native call. Rules: contract.md "Chat request"; chat.md "Request"; translation.md "JSON modes". */

import { conversationOf, isUserTurn, type Opening } from '../../affinity.ts'
import type { Body } from '../../body.ts'
import type { Call, ReadContext } from '../../format.ts'
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
import { includesCost } from '../../native/shown-cost.ts'
import { NATIVE_VERSION } from '../../native/versions.ts'
import { invalid, modelUnavailable, Refusal } from '../../refusal.ts'
import { compose, givenIds, userIdOf } from '../translate/body.ts'
import { readCacheControl, wishesCaching } from '../translate/caching.ts'
import { type JsonMode, jsonHint } from '../translate/json-mode.ts'
import { readBudget, readEffort, readNativeThinking, type ThinkingWish } from '../translate/thinking.ts'
import { isRole, type MessageFields, ROLES, readMessages } from './messages.ts'
import { readTools } from './tools.ts'
import type { ChatEcho } from './wire.ts'

/** Shape of the body, then the model, then what depends on the model. */
export function readChatRequest({ json }: Body, context: ReadContext): Call<ChatEcho> | Refusal {
  const shape = readShape(json)
  if (shape instanceof Refusal) return shape
  const model = context.find(shape.modelId)
  if (model === undefined) return modelUnavailable(shape.modelId)

  const read = readMessages(shape.messages, model.rejects.has('assistant_first'))
  if (read instanceof Refusal) return read
  const named = readTools(json)
  if (named instanceof Refusal) return named
  const mode = readResponseFormat(json['response_format'])
  if (mode instanceof Refusal) return mode
  const thinking = readThinking(json)
  if (thinking instanceof Refusal) return thinking
  const cacheControl = readCacheControl(json['cache_control'], 'cache_control')
  if (cacheControl instanceof Refusal) return cacheControl

  const isStream = json['stream'] === true
  const choice = choiceOf(json, named.isLegacy)
  const composed = compose(
    {
      isStream,
      maxTokens: numberOf(json['max_completion_tokens']) ?? numberOf(json['max_tokens']),
      system: read.system,
      jsonHint: jsonHint(mode),
      turns: read.turns,
      tools: named.tools,
      toolChoice: choice.toolChoice,
      toolChoicePath: choice.toolChoicePath,
      parallelToolCalls: choice.parallelToolCalls,
      droppedToolTypes: [],
      thinking,
      sampling: { temperature: numberOf(json['temperature']), topP: numberOf(json['top_p']), topK: numberOf(json['top_k']) },
      stopSequences: shape.stopSequences,
      userId: userIdOf(
        context.sha256Hex,
        json['safety_identifier'],
        json['user'],
        isObject(json['metadata']) ? json['metadata']['user_id'] : undefined,
      ),
      wishesCaching: wishesCaching(json),
      cacheControl,
    },
    model,
  )
  if (composed instanceof Refusal) return composed
  const { body, bounds, modelAt } = composed
  const opening = (): Opening => ({
    modelId: model.id,
    system: read.system,
    tools: named.tools,
    firstUserTurn: read.turns.find(isUserTurn),
  })
  const routing = { conversation: conversationOf(givenIds(json, context), opening), modelAt }
  const echo = { includesUsageChunk: includesUsageChunk(json), isLegacy: named.isLegacy, customTools: named.customTools }
  const native = { version: NATIVE_VERSION, betas: '', includesCost: includesCost(context.headers), isStored: true }
  return { model, isStream, body, bounds, routing, ...native, echo }
}

type Shape = Readonly<{ modelId: string; messages: readonly MessageFields[]; stopSequences: readonly string[] }>

function readShape(json: JsonObject): Shape | Refusal {
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

/** One string or several; those without a visible character, which native refuses, and repetitions are left out. */
function readStop(stop: unknown): readonly string[] | Refusal {
  if (!isGiven(stop)) return []
  const entries: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  if (!entries.every((entry) => typeof entry === 'string')) return invalid('stop', 'Input should be a string or an array of strings')
  return [...new Set(entries)].filter((entry) => !isBlank(entry))
}

/** `function_call` goes with `functions`; such a client can take one call only. */
function choiceOf(json: JsonObject, isLegacy: boolean) {
  if (!isLegacy) {
    const parallel = json['parallel_tool_calls']
    return {
      toolChoice: json['tool_choice'],
      toolChoicePath: 'tool_choice',
      parallelToolCalls: typeof parallel === 'boolean' ? parallel : undefined,
    }
  }
  const hasOwnChoice = isGiven(json['function_call']) || !isGiven(json['tool_choice'])
  const path = hasOwnChoice ? 'function_call' : 'tool_choice'
  return { toolChoice: json[path], toolChoicePath: path, parallelToolCalls: false }
}

/** A native `thinking` object, else `reasoning: {effort, max_tokens}`, else `reasoning_effort`. */
function readThinking(json: JsonObject): ThinkingWish | undefined | Refusal {
  const native = readNativeThinking(json['thinking'], 'thinking')
  if (native !== undefined) return native
  const { reasoning } = json
  if (isGiven(reasoning) && !isObject(reasoning)) return invalid('reasoning', NOT_AN_OBJECT)
  const tokens = isObject(reasoning) ? readBudget(reasoning['max_tokens'], 'reasoning.max_tokens') : undefined
  if (tokens instanceof Refusal) return tokens
  const own = isObject(reasoning) ? readEffort(reasoning['effort'], 'reasoning.effort') : undefined
  const effort = own ?? readEffort(json['reasoning_effort'], 'reasoning_effort')
  if (effort instanceof Refusal) return effort
  const base = { display: 'summarized', isExplicit: false } as const
  if (tokens !== undefined) return { ...base, kind: 'budget', tokens }
  return effort === undefined ? undefined : { ...base, kind: 'effort', effort }
}

function readResponseFormat(value: unknown): JsonMode | Refusal {
  if (!isGiven(value)) return { kind: 'text' }
  if (!isObject(value)) return invalid('response_format', NOT_AN_OBJECT)
  switch (value['type']) {
    case 'text':
      return { kind: 'text' }
    case 'json_object':
      return { kind: 'object' }
    case 'json_schema': {
      const named = value['json_schema']
      if (!isObject(named)) return invalid('response_format.json_schema', NOT_AN_OBJECT)
      return { kind: 'schema', schema: named['schema'] }
    }
    default:
      return invalid('response_format.type', 'Input should be one of text, json_object, json_schema')
  }
}

const includesUsageChunk = (json: JsonObject): boolean =>
  isObject(json['stream_options']) && json['stream_options']['include_usage'] === true

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
