/** A chat request to a native call. Rules: contract.md "Chat request"; chat.md "Request"; translation.md "JSON modes". */

import { conversationOf, isUserTurn, type Opening } from '../../affinity.ts'
import type { Body } from '../../body.ts'
import type { Model } from '../../catalog.ts'
import type { Call, ReadContext } from '../../format.ts'
import { isGiven, isObject, type JsonObject, NOT_AN_OBJECT } from '../../json.ts'
import { includesCost } from '../../native/shown-cost.ts'
import { NATIVE_VERSION } from '../../native/versions.ts'
import { invalid, modelUnavailable, Refusal } from '../../refusal.ts'
import { compose, givenIds, userIdOf } from '../translate/body.ts'
import { readCacheControl, wishesCaching } from '../translate/caching.ts'
import { type JsonMode, jsonHint, schemaMode, strictSchema } from '../translate/json-mode.ts'
import { readBudget, readEffort, readNativeThinking, type ThinkingWish } from '../translate/thinking.ts'
import { readMessages } from './messages.ts'
import { readPassed } from './pass/request.ts'
import { includesUsageChunk, numberOf, readShape, type Shape } from './shape.ts'
import { readTools } from './tools.ts'
import type { ChatEcho } from './wire.ts'

/** Checks the shape of the body, then the model, then what depends on the model. */
export function readChatRequest(body: Body, context: ReadContext): Call<ChatEcho> | Refusal {
  const shape = readShape(body.json)
  if (shape instanceof Refusal) return shape
  const model = context.find(shape.modelId)
  if (model === undefined) return modelUnavailable(shape.modelId)
  if (model.chat.length === 0) return readTranslated(body, shape, model, context)
  const passed = readPassed(body, shape, model, context)
  if (!model.isNative) return passed
  const translated = readTranslated(body, shape, model, context)
  return translated instanceof Refusal || passed instanceof Refusal ? translated : withBoth(translated, passed)
}

/** The call for a model that has upstreams of both kinds: its bounds are large enough for either body. */
const withBoth = (native: Call<ChatEcho>, { chat = [], bounds }: Call<ChatEcho>): Call<ChatEcho> => ({
  ...native,
  chat,
  bounds: {
    ...native.bounds,
    bodyBytes: Math.max(native.bounds.bodyBytes, bounds.bodyBytes),
    hasOpaqueInput: native.bounds.hasOpaqueInput || bounds.hasOpaqueInput,
  },
})

function readTranslated({ json }: Body, shape: Shape, model: Model, context: ReadContext): Call<ChatEcho> | Refusal {
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
  const { body, bounds, modelAt, thinkingTokens } = composed
  const opening = (): Opening => ({
    modelId: model.id,
    system: read.system,
    tools: named.tools,
    firstUserTurn: read.turns.find(isUserTurn),
  })
  const routing = { conversation: conversationOf(givenIds(json, context), opening), modelAt }
  const echo = { includesUsageChunk: includesUsageChunk(json), isLegacy: named.isLegacy, customTools: named.customTools }
  const native = { version: NATIVE_VERSION, betas: '', includesCost: includesCost(context.headers), isStored: true }
  const strict = model.chat.length === 0 ? {} : { strictSchema: strictSchema(mode) }
  return { model, isStream, body, bounds, thinkingTokens, ...strict, routing, ...native, echo }
}

/** `function_call` goes with `functions`; such a client can take only one call in an answer. */
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
      return schemaMode(named)
    }
    default:
      return invalid('response_format.type', 'Input should be one of text, json_object, json_schema')
  }
}
