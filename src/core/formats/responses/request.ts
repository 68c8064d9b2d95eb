/** A responses request to a native call. Rules: responses.md "Request". Unknown fields are ignored. */

import { conversationOf, isUserTurn, type Opening } from '../../affinity.ts'
import type { Body } from '../../body.ts'
import type { Call, ReadContext, Sha256Hex } from '../../format.ts'
import {
  checkBoolean,
  checkInteger,
  checkRange,
  firstRefusal,
  isGiven,
  isObject,
  type JsonObject,
  NOT_A_STRING,
  NOT_AN_OBJECT,
  REQUIRED,
} from '../../json.ts'
import { isBlank, type TextBlock, textBlock } from '../../native/shapes.ts'
import { includesCost } from '../../native/shown-cost.ts'
import { NATIVE_VERSION } from '../../native/versions.ts'
import { invalid, modelUnavailable, Refusal } from '../../refusal.ts'
import type { FinishedItem } from '../../transcoder.ts'
import { compose, givenIds, userIdOf } from '../translate/body.ts'
import { readCacheControl, wishesCaching } from '../translate/caching.ts'
import { type JsonMode, jsonHint, schemaMode, strictSchema } from '../translate/json-mode.ts'
import { readEffort, type ThinkingWish } from '../translate/thinking.ts'
import { readConversation } from './items.ts'
import { readItems } from './references.ts'
import { flattenChoice, readTools, shownChoice } from './tools.ts'
import type { Echoed, ResponsesEcho } from './wire.ts'

/** A larger request is not remembered: its input would stay in memory while the answer runs, and would then push all other answers out. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024
/** A request with more items is not remembered: the items cross from the reading thread to the event loop one by one, and 20,000 of them held the loop for 8 to 14 ms. */
const REMEMBERED_ITEMS_MAX = 3_000

export function readRequest({ bytes, json: body }: Body, { headers, find, recall, sha256Hex }: ReadContext): Call<ResponsesEcho> | Refusal {
  const settings = readSettings(body, sha256Hex)
  if (settings instanceof Refusal) return settings
  const tools = readTools(body['tools'], sha256Hex)
  if (tools instanceof Refusal) return tools
  const input = readItems(body, recall)
  if (input instanceof Refusal) return input
  const { modelId } = settings
  const read = readConversation(input, { modelId, flatNames: tools.flatNames, sha256Hex })
  if (read instanceof Refusal) return read

  const model = find(modelId)
  if (model === undefined) return modelUnavailable(modelId)
  const turns = read.conversation.end(model.rejects.has('assistant_first'), 'input')
  if (turns instanceof Refusal) return turns
  const system = [...settings.instructions, ...read.system]
  const composed = compose(
    {
      ...settings.translated,
      system,
      turns,
      tools: tools.tools,
      toolChoice: flattenChoice(body['tool_choice'], tools.flatNames),
      droppedToolTypes: tools.droppedTypes,
    },
    model,
  )
  if (composed instanceof Refusal) return composed
  const { modelAt, ...native } = composed
  const opening = (): Opening => ({ modelId, system, tools: tools.tools, firstUserTurn: turns.find(isUserTurn) })
  const routing = { conversation: conversationOf(givenIds(body, { headers }), opening), modelAt }
  const isTooLarge = bytes.byteLength > REMEMBERED_BYTES_MAX || input.items.length > REMEMBERED_ITEMS_MAX
  const isStored = body['store'] !== false
  const remembered = isStored && !isTooLarge ? input.items.map(rememberedItem) : undefined
  const { isStream } = settings.translated
  return {
    model,
    isStream,
    ...native,
    ...(model.chat.length === 0 ? {} : { strictSchema: strictSchema(settings.mode) }),
    routing,
    version: NATIVE_VERSION,
    betas: '',
    includesCost: includesCost(headers),
    isStored,
    echo: { fields: echoed(body), tools: tools.names, remembered },
  }
}

function rememberedItem(item: unknown): FinishedItem {
  const json = Buffer.from(JSON.stringify(item))
  return isObject(item) && typeof item['id'] === 'string' ? { id: item['id'], json } : { json }
}

/** The settings that need no model, in the order in which mistakes are named. */
function readSettings(body: JsonObject, sha256Hex: Sha256Hex) {
  const { model: modelId } = body
  if (!isGiven(modelId)) return invalid('model', REQUIRED)
  if (typeof modelId !== 'string') return invalid('model', NOT_A_STRING)
  const problem = checkFields(body)
  if (problem !== undefined) return problem
  const instructions = readInstructions(body['instructions'])
  if (instructions instanceof Refusal) return instructions
  const mode = readFormat(body['text'])
  if (mode instanceof Refusal) return mode
  const thinking = readThinking(body['reasoning'])
  if (thinking instanceof Refusal) return thinking
  const cacheControl = readCacheControl(body['cache_control'], 'cache_control')
  if (cacheControl instanceof Refusal) return cacheControl
  const translated = {
    isStream: body['stream'] === true,
    maxTokens: numberOf(body['max_output_tokens']),
    jsonHint: jsonHint(mode),
    toolChoicePath: 'tool_choice',
    parallelToolCalls: typeof body['parallel_tool_calls'] === 'boolean' ? body['parallel_tool_calls'] : undefined,
    thinking,
    sampling: { temperature: numberOf(body['temperature']), topP: numberOf(body['top_p']), topK: undefined },
    stopSequences: [],
    userId: userIdOf(sha256Hex, body['safety_identifier'], body['user']),
    wishesCaching: wishesCaching(body),
    cacheControl,
  }
  return { modelId, instructions, mode, translated }
}

const checkFields = (body: JsonObject): Refusal | undefined =>
  firstRefusal(
    isGiven(body['conversation']) ? invalid('conversation', 'not supported; send the full input') : undefined,
    isGiven(body['prompt']) ? invalid('prompt', 'prompt templates are not supported; send instructions and input') : undefined,
    checkBoolean(body['background'], 'background'),
    body['background'] === true ? invalid('background', 'background responses are not supported') : undefined,
    checkBoolean(body['stream'], 'stream'),
    checkBoolean(body['parallel_tool_calls'], 'parallel_tool_calls'),
    checkInteger(body['max_output_tokens'], 'max_output_tokens', 1),
    checkRange(body['temperature'], 'temperature', 0, 2),
    checkRange(body['top_p'], 'top_p', 0, 1),
  )

function readInstructions(value: unknown): readonly TextBlock[] | Refusal {
  if (!isGiven(value)) return []
  if (typeof value !== 'string') return invalid('instructions', NOT_A_STRING)
  return isBlank(value) ? [] : [textBlock(value)]
}

/** `text.format`; a schema stands flat beside its type. */
function readFormat(text: unknown): JsonMode | Refusal {
  if (!isGiven(text)) return { kind: 'text' }
  if (!isObject(text)) return invalid('text', NOT_AN_OBJECT)
  const { format } = text
  if (!isGiven(format)) return { kind: 'text' }
  if (!isObject(format)) return invalid('text.format', NOT_AN_OBJECT)
  switch (format['type']) {
    case 'text':
      return { kind: 'text' }
    case 'json_object':
      return { kind: 'object' }
    case 'json_schema':
      return schemaMode(format)
    default:
      return invalid('text.format.type', 'Input should be one of text, json_object, json_schema')
  }
}

/** Without an effort the request has no wish for thinking: some clients always send `reasoning`, only for the summary. */
function readThinking(reasoning: unknown): ThinkingWish | undefined | Refusal {
  if (!isGiven(reasoning)) return undefined
  if (!isObject(reasoning)) return invalid('reasoning', NOT_AN_OBJECT)
  const effort = readEffort(reasoning['effort'], 'reasoning.effort')
  if (effort === undefined || effort instanceof Refusal) return effort
  return { kind: 'effort', effort, display: 'summarized', isExplicit: false }
}

function echoed(body: JsonObject): Echoed {
  const reasoning = isObject(body['reasoning']) ? body['reasoning'] : {}
  const text = isObject(body['text']) ? body['text'] : {}
  return {
    max_output_tokens: numberOf(body['max_output_tokens']) ?? null,
    parallel_tool_calls: body['parallel_tool_calls'] !== false,
    previous_response_id: textOf(body['previous_response_id']),
    prompt_cache_key: textOf(body['prompt_cache_key']),
    reasoning: { effort: textOf(reasoning['effort']), summary: textOf(reasoning['summary'] ?? reasoning['generate_summary']) },
    safety_identifier: textOf(body['safety_identifier']),
    temperature: numberOf(body['temperature']) ?? 1,
    text: { format: text['format'] ?? { type: 'text' }, verbosity: textOf(text['verbosity']) ?? 'medium' },
    tool_choice: shownChoice(body['tool_choice']),
    top_p: numberOf(body['top_p']) ?? 1,
    user: textOf(body['user']),
    metadata: isObject(body['metadata']) ? body['metadata'] : {},
  }
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
