/** A complete native message to a chat completion. Rules: contract.md "Chat answer"; chat.md "Answer"; translation.md "Ends". */

import { utf8Bytes } from '../../bytes/byte-string.ts'
import type { Call, Stamp } from '../../format.ts'
import type { JsonObject } from '../../json.ts'
import type { NativeMessage } from '../../native/message.ts'
import { exactContent } from '../translate/arguments.ts'
import { calledOf, functionCall, toolCall } from './tools.ts'
import { chatUsage } from './usage.ts'
import { type ChatCompletion, type ChatEcho, type ChatMessage, completionId, type FinishReason, type ThinkingBlock } from './wire.ts'

export function chatCompletion(message: NativeMessage, call: Call<ChatEcho>, stamp: Stamp): ChatCompletion {
  const content = exactContent(message)
  const toolUses = content.filter(({ type }) => type === 'tool_use')
  return {
    id: completionId(message.json['id'], stamp.requestId),
    object: 'chat.completion',
    created: stamp.createdSeconds,
    model: call.model.id,
    choices: [
      {
        index: 0,
        message: chatMessage(content, toolUses, call.echo),
        logprobs: null,
        finish_reason: finishReason(message.observation.stopReason, toolUses.length > 0, call.echo.isLegacy),
      },
    ],
    usage: chatUsage(message.observation, call),
  }
}

export const chatResponse = (message: NativeMessage, call: Call<ChatEcho>, stamp: Stamp): Uint8Array =>
  utf8Bytes(JSON.stringify(chatCompletion(message, call, stamp)))

function chatMessage(content: readonly JsonObject[], toolUses: readonly JsonObject[], echo: ChatEcho): ChatMessage {
  const reasoning = joined(content, 'thinking')
  const written: ChatMessage = { role: 'assistant', content: joined(content, 'text'), refusal: null }
  if (reasoning !== '') written.reasoning_content = reasoning
  const signed = content.flatMap(signedThinking)
  if (signed.length > 0) written.thinking_blocks = signed
  return toolUses.length === 0 ? written : { ...written, ...calls(toolUses, echo) }
}

function calls(toolUses: readonly JsonObject[], { isLegacy, customTools }: ChatEcho): Pick<ChatMessage, 'tool_calls' | 'function_call'> {
  const [first] = toolUses
  if (first === undefined) return {}
  if (isLegacy) return { function_call: functionCall(calledOf(first, 0), first['input']) }
  return { tool_calls: toolUses.map((block, position) => toolCall(calledOf(block, position), block['input'], customTools)) }
}

/** The text of all blocks of a type, without a separator; the field that holds it is named like the type. */
function joined(content: readonly JsonObject[], type: 'text' | 'thinking'): string {
  let text = ''
  for (const block of content) if (block['type'] === type && typeof block[type] === 'string') text += block[type]
  return text
}

/** Thinking that the client may send back: only signed thinking. */
function signedThinking({ type, thinking, signature, data }: JsonObject): ThinkingBlock[] {
  if (type === 'thinking' && typeof signature === 'string' && signature !== '')
    return [{ type, thinking: typeof thinking === 'string' ? thinking : '', signature }]
  return type === 'redacted_thinking' && typeof data === 'string' ? [{ type, data }] : []
}

/** Native stop reasons to chat's. A reason that chat does not have is never passed on: typed clients fail on it. */
export function finishReason(stopReason: string | undefined, hasToolCall: boolean, isLegacy: boolean): FinishReason {
  const forTools = isLegacy ? 'function_call' : 'tool_calls'
  switch (stopReason) {
    case 'end_turn':
    case 'stop_sequence':
    case 'pause_turn':
    case 'compaction':
      return 'stop'
    case 'tool_use':
      return forTools
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'refusal':
      return 'content_filter'
    default:
      return hasToolCall ? forTools : 'stop'
  }
}
