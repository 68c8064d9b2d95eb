/** Reads a native request and checks it as a native upstream does. Rules: native.md "Request fields", "What native refuses". */

import { isObject, type JsonObject } from '../core/json.ts'
import { checkConversation } from './conversation.ts'
import { Problem } from './native-error.ts'
import { blocksOf, type NativeRequest, objects, type ToolChoice } from './request.ts'
import { checkTools } from './tools.ts'

/** Counting tokens needs no `max_tokens`. */
export function readRequest(body: unknown, isCounting: boolean): NativeRequest | Problem {
  if (!isObject(body)) return new Problem(400, 'The request body is not a JSON object')
  const wrong = checkFields(body, isCounting)
  if (wrong !== undefined) return new Problem(400, wrong)
  const request: NativeRequest = {
    model: String(body['model']),
    maxTokens: Number(body['max_tokens'] ?? 0),
    system: blocksOf(body['system']),
    messages: objects(body['messages']).map((message) => ({ role: String(message['role']), blocks: blocksOf(message['content']) })),
    tools: objects(body['tools']),
    ...readToolChoice(body['tool_choice']),
    stopSequences: strings(body['stop_sequences']),
    isStream: body['stream'] === true,
    thinking: readThinking(body['thinking']),
    schema: readSchema(body),
    cacheControl: body['cache_control'],
  }
  const broken = checkTools(request) ?? checkConversation(request) ?? checkThinking(body, request)
  return broken === undefined ? request : new Problem(400, broken)
}

/** What is wrong with the first wrong field, with its path; undefined when no field is wrong. */
function checkFields(body: JsonObject, isCounting: boolean): string | undefined {
  const { model, max_tokens: maxTokens, messages, system, tools, stop_sequences: stops, stream, temperature, top_p: topP } = body
  if (typeof model !== 'string') return model === undefined ? 'model: Field required' : 'model: must be a string'
  if (!isCounting && maxTokens === undefined) return 'max_tokens: Field required'
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && Number(maxTokens) >= 0))
    return 'max_tokens: must be an integer from 0'
  if (messages === undefined) return 'messages: Field required'
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: must be an array of at least one message'
  for (const [index, message] of messages.entries()) {
    const wrong = checkMessage(message)
    if (wrong !== undefined) return `messages.${index}${wrong}`
  }
  if (system !== undefined && !isContent(system)) return 'system: must be a string or an array of text blocks'
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(isObject))) return 'tools: must be an array of objects'
  if (stops !== undefined && !(Array.isArray(stops) && stops.every((stop) => typeof stop === 'string' && stop.trim() !== '')))
    return 'stop_sequences: each must contain more than white space'
  if (stream !== undefined && typeof stream !== 'boolean') return 'stream: must be a boolean'
  if (!isShare(temperature)) return 'temperature: must be from 0 to 1'
  if (!isShare(topP)) return 'top_p: must be from 0 to 1'
  return undefined
}

function checkMessage(message: unknown): string | undefined {
  if (!isObject(message)) return ': must be an object'
  if (!['user', 'assistant', 'system'].includes(String(message['role']))) return ".role: must be 'user' or 'assistant'"
  return isContent(message['content']) ? undefined : '.content: must be a string or an array of blocks'
}

function checkThinking(body: JsonObject, request: NativeRequest): string | undefined {
  const thinking = isObject(body['thinking']) ? body['thinking'] : {}
  if (thinking['type'] !== 'enabled') return undefined
  const budget = Number(thinking['budget_tokens'])
  if (!(budget >= 1024)) return 'thinking.enabled.budget_tokens: must be at least 1024'
  if (body['max_tokens'] !== undefined && budget >= request.maxTokens) return 'max_tokens: must be greater than thinking.budget_tokens'
  const isForced = request.toolChoice.kind === 'any' || request.toolChoice.kind === 'tool'
  return isForced ? 'thinking: cannot be enabled while tool_choice forces a tool' : undefined
}

function readThinking(value: unknown): NativeRequest['thinking'] {
  const thinking = isObject(value) ? value : {}
  if (thinking['type'] !== 'enabled' && thinking['type'] !== 'adaptive') return 'none'
  return thinking['display'] === 'omitted' ? 'omitted' : 'shown'
}

function readToolChoice(value: unknown): { toolChoice: ToolChoice; isParallel: boolean } {
  const choice = isObject(value) ? value : {}
  const isParallel = choice['disable_parallel_tool_use'] !== true
  if (choice['type'] === 'tool') return { toolChoice: { kind: 'tool', name: String(choice['name']) }, isParallel }
  return { toolChoice: { kind: choice['type'] === 'any' || choice['type'] === 'none' ? choice['type'] : 'auto' }, isParallel }
}

function readSchema(body: JsonObject): JsonObject | undefined {
  const config = isObject(body['output_config']) ? body['output_config'] : {}
  const format = config['format'] ?? body['output_format']
  return isObject(format) && isObject(format['schema']) ? format['schema'] : undefined
}

const isContent = (value: unknown): boolean => typeof value === 'string' || (Array.isArray(value) && value.every(isObject))
const isShare = (value: unknown): boolean => value === undefined || (typeof value === 'number' && value >= 0 && value <= 1)
const strings = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
