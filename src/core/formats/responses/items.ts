/** Input items to the system prompt and native turns. Rules: responses.md "Items"; translation.md "Turns". */

import type { Sha256Hex } from '../../format.ts'
import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { append, type Block, plainText, type TextBlock, withoutBlankText } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { readArguments } from '../translate/arguments.ts'
import { Conversation } from '../translate/turns.ts'
import { isTextType, readContent, unsupported } from './content.ts'
import { unseal } from './envelope.ts'
import type { Items } from './references.ts'
import { type FlatNames, flatName } from './tools.ts'

export type ItemContext = Readonly<{ modelId: string; flatNames: FlatNames; sha256Hex: Sha256Hex }>

export type Conversed = Readonly<{ system: readonly TextBlock[]; conversation: Conversation }>

/**
 * System and developer messages before all other items become the system prompt. Later ones keep their place, as marked user text: moving them to the front would
 * rewrite the cached prefix in the middle of a session.
 */
export function readConversation({ items, pathAt }: Items, context: ItemContext): Conversed | Refusal {
  const found = items.findIndex((item) => !isInstruction(item))
  const lead = found === -1 ? items.length : found
  const conversation = new Conversation()
  const system: TextBlock[] = []
  for (let index = 0; index < lead; index++) {
    const blocks = readContent((items[index] as JsonObject)['content'], `${pathAt(index)}.content`, 'text')
    if (blocks instanceof Refusal) return blocks
    const isOnlyPrompt = index === items.length - 1
    if (isOnlyPrompt) conversation.addUser(blocks)
    else append(system, withoutBlankText(blocks as readonly TextBlock[]))
  }
  for (let index = lead; index < items.length; index++) {
    const problem = addItem(conversation, items[index], () => pathAt(index), context)
    if (problem !== undefined) return problem
  }
  return { system, conversation }
}

const isInstruction = (item: unknown): boolean => isMessage(item) && (item['role'] === 'system' || item['role'] === 'developer')

const isMessage = (item: unknown): item is JsonObject =>
  isObject(item) && (item['type'] === 'message' || (!isGiven(item['type']) && isGiven(item['role'])))

/** Types of items that other providers' tools left in a history; this model never saw them and needs none. */
const DROPPED: ReadonlySet<unknown> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'compaction',
  'tool_search_call',
  'tool_search_output',
  'additional_tools',
  'program',
  'program_output',
  'configuration_update',
])

function addItem(conversation: Conversation, item: unknown, path: () => string, context: ItemContext): Refusal | undefined {
  if (isMessage(item)) {
    const { role, content } = item
    const text = role === 'user' || role === 'assistant' ? plainText(content, isTextType) : undefined
    if (text === undefined) return addMessage(conversation, item, path())
    conversation.addText(role as 'user' | 'assistant', text)
    return undefined
  }
  if (!isObject(item)) return invalid(path(), NOT_AN_OBJECT)
  const { type } = item
  switch (type) {
    case 'reasoning':
      conversation.addAssistant(unseal(context.modelId, item['encrypted_content']))
      return undefined
    case 'function_call':
    case 'custom_tool_call':
      return addCall(conversation, item, path, context)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return addOutput(conversation, item, path)
    default:
      if (!isGiven(type)) return invalid(`${path()}.type`, REQUIRED)
      return DROPPED.has(type) ? undefined : unsupported(type, path())
  }
}

function addMessage(conversation: Conversation, item: JsonObject, path: string): Refusal | undefined {
  const { role } = item
  if (!isGiven(role)) return invalid(`${path}.role`, REQUIRED)
  const blocks = readContent(item['content'], `${path}.content`, role === 'user' ? 'media' : 'text')
  if (blocks instanceof Refusal) return blocks
  switch (role) {
    case 'user':
      conversation.addUser(blocks)
      return undefined
    case 'assistant':
      conversation.addAssistant(blocks)
      return undefined
    case 'system':
    case 'developer':
      conversation.addUser(withoutBlankText(blocks).map(reminder))
      return undefined
    default:
      return invalid(`${path}.role`, 'Input should be one of user, assistant, system, developer')
  }
}

const reminder = (block: Block): Block => ({ ...block, text: `<system-reminder>\n${String(block['text'])}\n</system-reminder>` })

function addCall(conversation: Conversation, item: JsonObject, path: () => string, context: ItemContext): Refusal | undefined {
  const { name, namespace } = item
  if (!isGiven(name)) return invalid(`${path()}.name`, REQUIRED)
  if (typeof name !== 'string') return invalid(`${path()}.name`, NOT_A_STRING)
  const rawId = readCallId(item, path)
  if (rawId instanceof Refusal) return rawId
  const input = item['type'] === 'custom_tool_call' ? { input: item['input'] ?? '' } : readArguments(item['arguments'])
  conversation.addToolCall({ rawId, name: flatName(name, namespace, context), input, path })
  return undefined
}

function addOutput(conversation: Conversation, item: JsonObject, path: () => string): Refusal | undefined {
  const rawId = readCallId(item, path)
  if (rawId instanceof Refusal) return rawId
  const { output } = item
  const content = typeof output === 'string' ? output : readContent(output, `${path()}.output`, 'media')
  if (content instanceof Refusal) return content
  conversation.addToolResult({ answers: { rawId }, content, isError: false, path: () => `${path()}.call_id` })
  return undefined
}

/** The call id; '' when there is none: a result without an id answers a call without one. */
function readCallId(item: JsonObject, path: () => string): string | Refusal {
  const { call_id: callId } = item
  if (!isGiven(callId)) return ''
  return typeof callId === 'string' ? callId : invalid(`${path()}.call_id`, NOT_A_STRING)
}
