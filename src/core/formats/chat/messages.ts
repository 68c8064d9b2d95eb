/** Chat's messages to a native system prompt and turns. Rules: chat.md "Messages"; translation.md "System prompt", "Turns". */

import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_ARRAY, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { cleanName } from '../../native/names.ts'
import {
  append,
  type Block,
  type CacheControl,
  markLast,
  plainText,
  type TextBlock,
  type Turn,
  withoutBlankText,
} from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { readArguments } from '../translate/arguments.ts'
import { readCacheControl } from '../translate/caching.ts'
import { thinkingBlocks } from '../translate/thinking.ts'
import { Conversation, type ToolCall } from '../translate/turns.ts'
import { readContent } from './content.ts'

export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
type Role = (typeof ROLES)[number]

export const isRole = (value: unknown): value is Role => KNOWN_ROLES.has(value)
const KNOWN_ROLES = new Set<unknown>(ROLES)

/** A message whose shape has been checked: an object with a known role. */
export type MessageFields = JsonObject & Readonly<{ role: Role }>

type Message = Readonly<{ role: Role; fields: JsonObject; index: number }>

/** The message's place as refusals name it. */
const pathOf = ({ index }: Message): string => `messages[${index}]`

export type ReadMessages = Readonly<{ system: readonly TextBlock[]; turns: readonly Turn[] }>

/** `needsUserFirst`: see `Conversation.end`. */
export function readMessages(messages: readonly MessageFields[], needsUserFirst: boolean): ReadMessages | Refusal {
  const system: TextBlock[] = []
  const conversation = new Conversation()
  const onlySystem = messages.every(isSystem)
  for (let index = 0; index < messages.length; index++) {
    const fields = messages[index] as MessageFields
    const { role, content } = fields
    if ((role === 'user' || role === 'assistant') && Object.keys(fields).length === 2) {
      const text = plainText(content, isTextType)
      if (text !== undefined) {
        conversation.addText(role, text)
        continue
      }
    }
    const message = { role, fields, index }
    const marker = isGiven(fields['cache_control'])
      ? readCacheControl(fields['cache_control'], `${pathOf(message)}.cache_control`)
      : undefined
    if (marker instanceof Refusal) return marker
    const isHoisted = isSystem(fields) && !(onlySystem && index === messages.length - 1)
    const problem = isHoisted ? addSystem(system, message, marker) : addMessage(conversation, message, marker)
    if (problem !== undefined) return problem
  }
  const turns = conversation.end(needsUserFirst, 'messages')
  return turns instanceof Refusal ? turns : { system, turns }
}

const isTextType = (type: unknown): boolean => type === 'text'

const isSystem = ({ role }: MessageFields): boolean => role === 'system' || role === 'developer'

function addSystem(system: TextBlock[], message: Message, marker: CacheControl | undefined): Refusal | undefined {
  const { fields } = message
  const blocks = readContent(fields['content'], 'system', () => `${pathOf(message)}.content`)
  if (blocks instanceof Refusal) return blocks
  markLast(blocks, marker)
  append(system, withoutBlankText(blocks) as unknown as TextBlock[])
  return undefined
}

function addMessage(conversation: Conversation, message: Message, marker: CacheControl | undefined): Refusal | undefined {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return addUser(conversation, message, marker)
    case 'assistant':
      return addAssistant(conversation, message, marker)
    case 'tool':
    case 'function':
      return addResult(conversation, message, marker)
  }
}

function addUser(conversation: Conversation, message: Message, marker: CacheControl | undefined): Refusal | undefined {
  const { fields } = message
  const blocks = readContent(fields['content'], 'user', () => `${pathOf(message)}.content`)
  if (blocks instanceof Refusal) return blocks
  markLast(blocks, marker)
  for (const [index, block] of blocks.entries()) {
    if (block.type !== 'tool_result') continue
    const problem = addNativeResult(conversation, block, `${pathOf(message)}.content[${index}]`)
    if (problem !== undefined) return problem
  }
  conversation.addUser(blocks.some(isResult) ? blocks.filter((block) => !isResult(block)) : blocks)
  return undefined
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'

/** A native `tool_result` part, as clients that keep native history send it. */
function addNativeResult(conversation: Conversation, block: Block, path: string): Refusal | undefined {
  const { tool_use_id: rawId, content, is_error: isError, cache_control } = block
  const marker = readCacheControl(cache_control, `${path}.cache_control`)
  if (marker instanceof Refusal) return marker
  if (typeof rawId !== 'string') return invalid(`${path}.tool_use_id`, isGiven(rawId) ? NOT_A_STRING : REQUIRED)
  const read = readContent(content, 'tool', () => `${path}.content`)
  if (read instanceof Refusal) return read
  const answers = { rawId }
  conversation.addToolResult({
    answers,
    content: typeof content === 'string' ? content : read,
    isError: isError === true,
    path: () => `${path}.tool_use_id`,
    cacheControl: marker,
  })
  return undefined
}

function addResult(conversation: Conversation, message: Message, marker: CacheControl | undefined): Refusal | undefined {
  const { role, fields } = message
  const key = role === 'tool' ? 'tool_call_id' : 'name'
  const called = fields[key] ?? ''
  if (typeof called !== 'string') return invalid(`${pathOf(message)}.${key}`, NOT_A_STRING)
  const answers = role === 'tool' ? { rawId: called } : { name: cleanName(called) }
  const isError = fields['is_error'] === true
  const { content } = fields
  const path = (): string => `${pathOf(message)}.${key}`
  if (typeof content === 'string') {
    conversation.addToolResult({ answers, content, isError, path, cacheControl: marker })
    return undefined
  }
  const read = readContent(content, 'tool', () => `${pathOf(message)}.content`)
  if (read instanceof Refusal) return read
  const partMarker = read.findLast(({ cache_control }) => cache_control !== undefined)?.cache_control
  conversation.addToolResult({
    answers,
    isError,
    path,
    content: read.map(({ cache_control: _moved, ...block }) => block as Block),
    cacheControl: marker ?? partMarker,
  })
  return undefined
}

function addAssistant(conversation: Conversation, message: Message, marker: CacheControl | undefined): Refusal | undefined {
  const { fields } = message
  const content = readContent(fields['content'], 'assistant', () => `${pathOf(message)}.content`)
  if (content instanceof Refusal) return content
  const calls = hasCalls(content, fields) ? readCalls(content, fields, () => pathOf(message)) : NO_CALLS
  if (calls instanceof Refusal) return calls
  const blocks = calls.length === 0 ? content : content.filter((block) => !isUse(block))
  const kept = withoutBlankText(blocks.some(isThinking) ? blocks : [...signedThinking(fields), ...blocks])
  if (calls.length === 0) markLast(kept, marker)
  if (calls.length > 0 || !kept.every(isThinking)) conversation.addAssistant(kept)
  const last = marker === undefined ? undefined : calls.at(-1)
  for (const call of calls) conversation.addToolCall(call === last ? { ...call, cacheControl: marker } : call)
  return undefined
}

const isThinking = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking'

/** Thinking in the forms that clients of other gateways send back: `thinking_blocks`, or `reasoning_details` of the two types that can be sent back. */
function signedThinking(fields: JsonObject): Block[] {
  if (isGiven(fields['thinking_blocks'])) return thinkingBlocks(fields['thinking_blocks'])
  const details = fields['reasoning_details']
  if (!Array.isArray(details)) return []
  return thinkingBlocks(
    details.filter(isObject).map(({ type, text, signature, data }) => {
      if (type === 'reasoning.text') return { type: 'thinking', thinking: text, signature }
      return type === 'reasoning.encrypted' ? { type: 'redacted_thinking', data } : {}
    }),
  )
}

const NO_CALLS: readonly ToolCall[] = []

const hasCalls = (content: readonly Block[], fields: JsonObject): boolean =>
  isGiven(fields['tool_calls']) || isGiven(fields['function_call']) || content.some(isUse)

/** Calls of a message: native `tool_use` parts that `tool_calls` does not repeat, then `tool_calls`, else the older `function_call`. */
function readCalls(content: readonly Block[], fields: JsonObject, path: () => string): ToolCall[] | Refusal {
  const listed = readToolCalls(fields, path)
  if (listed instanceof Refusal || !content.some(isUse)) return listed
  const known = new Set(listed.map(({ rawId }) => rawId))
  const calls: ToolCall[] = []
  for (const block of content.filter(isUse)) {
    const { id, name, input } = block
    const call = toolCall(id, name, input, path, () => `${path()}.content`)
    if (call instanceof Refusal) return call
    if (!known.has(call.rawId)) calls.push(call)
  }
  return [...calls, ...listed]
}

const isUse = ({ type }: Block): boolean => type === 'tool_use'

function readToolCalls(fields: JsonObject, path: () => string): ToolCall[] | Refusal {
  const entries = fields['tool_calls'] ?? []
  if (!Array.isArray(entries)) return invalid(`${path()}.tool_calls`, NOT_AN_ARRAY)
  if (entries.length === 0 && isGiven(fields['function_call'])) {
    const call = readFunction(undefined, fields['function_call'], path, () => `${path()}.function_call`)
    return call instanceof Refusal ? call : [call]
  }
  const calls: ToolCall[] = []
  for (const [index, entry] of entries.entries()) {
    const call = readToolCall(entry, path, () => `${path()}.tool_calls[${index}]`)
    if (call instanceof Refusal) return call
    calls.push(call)
  }
  return calls
}

function readToolCall(entry: unknown, path: () => string, callPath: () => string): ToolCall | Refusal {
  if (!isObject(entry)) return invalid(callPath(), NOT_AN_OBJECT)
  const kind = entry['type'] ?? 'function'
  if (kind === 'function') return readFunction(entry['id'], entry['function'], path, () => `${callPath()}.function`)
  if (kind !== 'custom') return invalid(`${callPath()}.type`, 'Input should be one of function, custom')
  const { custom } = entry
  if (!isObject(custom)) return invalid(`${callPath()}.custom`, NOT_AN_OBJECT)
  return toolCall(entry['id'], custom['name'], { input: custom['input'] ?? '' }, path, () => `${callPath()}.custom`)
}

function readFunction(id: unknown, called: unknown, path: () => string, callPath: () => string): ToolCall | Refusal {
  if (!isObject(called)) return invalid(callPath(), NOT_AN_OBJECT)
  return toolCall(id, called['name'], called['arguments'], path, callPath)
}

/** `path` names the message, in the refusal of a call that no result answers; `callPath` names the object that holds the call's fields. */
function toolCall(id: unknown, name: unknown, input: unknown, path: () => string, callPath: () => string): ToolCall | Refusal {
  if (isGiven(id) && typeof id !== 'string') return invalid(`${callPath()}.id`, NOT_A_STRING)
  if (typeof name !== 'string' || name === '') return invalid(`${callPath()}.name`, isGiven(name) && name !== '' ? NOT_A_STRING : REQUIRED)
  return { rawId: typeof id === 'string' ? id : '', name: cleanName(name), input: readArguments(input), path }
}
