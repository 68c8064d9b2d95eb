/**
 * A native system prompt and native turns as chat messages. A call's result is a message of its own, right behind the calls; the images in it, which such a message cannot
 * hold, come in a user message behind all of them. Rules: openai.md "Native requests", "Thinking".
 */

import type { Model } from '../../../catalog.ts'
import type { ChatDialect } from '../../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { fieldOfSignature } from '../../../native/own-signature.ts'
import { invalid, Refusal } from '../../../refusal.ts'
import { chatCallId } from './call-id.ts'
import { contentOf, isText, type Part, partsOf, textOf } from './parts.ts'

type Context = Readonly<{ rejects: Model['rejects']; reasoning: ChatDialect['reasoning'] }>
type Message = JsonObject

export function chatMessages(json: JsonObject, { rejects }: Model, { reasoning }: ChatDialect): readonly Message[] | Refusal {
  const context = { rejects, reasoning }
  const system = systemOf(json['system'], 'system', rejects)
  if (system instanceof Refusal) return system
  const messages: Message[] = [...system]
  const turns: readonly unknown[] = Array.isArray(json['messages']) ? json['messages'] : []
  for (const [index, turn] of turns.entries()) {
    if (!isObject(turn)) continue
    const path = `messages.${index}.content`
    const said = messagesOf(turn, path, context)
    if (said instanceof Refusal) return said
    for (const message of said) messages.push(message)
  }
  return rejects.has('system') ? withoutSystem(messages) : messages
}

function messagesOf({ role, content }: JsonObject, path: string, context: Context): readonly Message[] | Refusal {
  if (role === 'system') return systemOf(content, path, context.rejects)
  return role === 'assistant' ? assistantOf(content, path, context) : userOf(content, path, context.rejects)
}

function systemOf(content: unknown, path: string, rejects: Model['rejects']): readonly Message[] | Refusal {
  const parts = partsOf(content, path, rejects)
  if (parts instanceof Refusal) return parts
  return parts.length === 0 ? [] : [{ role: 'system', content: textOf(parts) }]
}

/** For a model that takes no system prompt: puts its text before that of the first user message. */
function withoutSystem(messages: readonly Message[]): readonly Message[] {
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => String(content))
  const others = messages.filter(({ role }) => role !== 'system')
  if (system.length === 0) return others
  const [first, ...rest] = others
  const text = system.join('\n')
  // The two texts become one message: many chat templates demand that the roles alternate.
  if (first?.['role'] !== 'user') return [{ role: 'user', content: text }, ...others]
  const content =
    typeof first['content'] === 'string' ? `${text}\n${first['content']}` : [{ type: 'text', text }, ...(first['content'] as Part[])]
  return [{ role: 'user', content }, ...rest]
}

function userOf(content: unknown, path: string, rejects: Model['rejects']): readonly Message[] | Refusal {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  const isResult = (block: unknown): block is JsonObject => isObject(block) && block['type'] === 'tool_result'
  const results: Message[] = []
  const images: Part[] = []
  for (const [index, block] of blocks.entries()) {
    if (!isResult(block)) continue
    const parts = partsOf(block['content'], `${path}.${index}.content`, rejects)
    if (parts instanceof Refusal) return parts
    const text = textOf(parts)
    const id = chatCallId(block['tool_use_id'])
    results.push({ role: 'tool', tool_call_id: id, content: block['is_error'] === true ? `Error: ${text}` : text })
    const shown = parts.filter((part) => !isText(part))
    if (shown.length > 0) images.push({ type: 'text', text: `Images of the result of ${String(id)}:` }, ...shown)
  }
  const said = partsOf(typeof content === 'string' ? content : blocks.map((block) => (isResult(block) ? EMPTY : block)), path, rejects)
  if (said instanceof Refusal) return said
  const parts = [...images, ...said.filter((part) => part !== EMPTY && !isEmpty(part))]
  return parts.length === 0 ? results : [...results, { role: 'user', content: contentOf(parts) }]
}

/** Stands in the place of a result, so that the places of all other blocks stay. */
const EMPTY: Part = { type: 'text', text: '' }
const isEmpty = (part: Part): boolean => isText(part) && part.text === ''

function assistantOf(content: unknown, path: string, { reasoning }: Context): readonly Message[] | Refusal {
  if (typeof content === 'string') return [{ role: 'assistant', content }]
  const blocks: readonly unknown[] = Array.isArray(content) ? content : []
  const said: string[] = []
  const calls: JsonObject[] = []
  const reasoned: Record<string, string> = {}
  for (const [index, block] of blocks.entries()) {
    if (!isObject(block)) return invalid(`${path}.${index}`, 'Input should be a valid object')
    switch (block['type']) {
      case 'text':
        said.push(String(block['text'] ?? ''))
        break
      case 'tool_use':
        calls.push(callOf(block))
        break
      case 'thinking': {
        const field = reasoningField(block['signature'], reasoning)
        if (field !== undefined) reasoned[field] = `${reasoned[field] ?? ''}${String(block['thinking'] ?? '')}`
        break
      }
      // Encrypted by another vendor, who alone can read it.
      case 'redacted_thinking':
        break
      default:
        return invalid(`${path}.${index}`, `${String(block['type']).slice(0, 100)} is not supported by this model`)
    }
  }
  const text = said.join('')
  if (text === '' && calls.length === 0 && Object.keys(reasoned).length === 0) return []
  return [
    {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      ...reasoned,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ]
}

/** The field in which thinking goes back: the one that it came in, unless the setting names one. Only thinking that came from such a server goes back. */
function reasoningField(signature: unknown, setting: ChatDialect['reasoning']): string | undefined {
  const came = fieldOfSignature(signature)
  return came === undefined || setting === 'none' ? undefined : setting === 'auto' ? came : setting
}

const callOf = ({ id, name, input }: JsonObject): JsonObject => ({
  id: chatCallId(id),
  type: 'function',
  function: { name, arguments: JSON.stringify(input ?? {}) },
})
