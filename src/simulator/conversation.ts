/** What a native upstream demands of the turns: text that is not blank, and a result for every tool call. Rules: native.md "What native refuses". */

import type { JsonObject } from '../core/json.ts'
import type { NativeRequest, Turn } from './request.ts'

/** The first problem, with its path; undefined when there is none. */
export function checkConversation({ messages }: NativeRequest): string | undefined {
  for (const [index, { role, blocks }] of messages.entries()) {
    if (role === 'user' && blocks.length === 0) return `messages.${index}.content: must not be empty`
    if (blocks.some(isBlank)) return `messages.${index}: text blocks must contain more than white space`
  }
  const last = messages.at(-1)
  const text = last?.role === 'assistant' ? last.blocks.at(-1)?.['text'] : undefined
  if (typeof text === 'string' && text !== text.trimEnd()) return 'messages: the final assistant turn must not end with white space'
  return checkToolPairs(mergeTurns(messages))
}

/** Neighbouring messages of one role are one turn; system messages between them do not separate them. */
export function mergeTurns(messages: readonly Turn[]): readonly Turn[] {
  const turns: Turn[] = []
  for (const { role, blocks } of messages) {
    const last = turns.at(-1)
    if (role === 'system') continue
    if (last?.role === role) turns[turns.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else turns.push({ role, blocks })
  }
  return turns
}

function checkToolPairs(turns: readonly Turn[]): string | undefined {
  const used = new Set<string>()
  let open = new Set<string>()
  for (const [index, { role, blocks }] of turns.entries()) {
    if (role === 'user') {
      const wrong = checkResults(blocks, open)
      if (wrong !== undefined) return `messages.${index}: ${wrong}`
      open = new Set()
      continue
    }
    for (const id of idsOf(blocks, 'tool_use', 'id')) {
      if (!/^[a-zA-Z0-9_-]+$/.test(id)) return `messages.${index}: tool_use id '${id}' has a character that is not allowed`
      if (used.has(id)) return `messages.${index}: tool_use ids must be unique, '${id}' is not`
      used.add(id)
      open.add(id)
    }
  }
  return open.size > 0 ? `messages: tool_use without a tool_result: ${[...open].join(', ')}` : undefined
}

function checkResults(blocks: readonly JsonObject[], open: ReadonlySet<string>): string | undefined {
  const results = idsOf(blocks, 'tool_result', 'tool_use_id')
  if (blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result')) return 'tool_result blocks must come first'
  if (new Set(results).size !== results.length) return 'each tool_use takes one tool_result'
  const stray = results.find((id) => !open.has(id))
  if (stray !== undefined) return `tool_result '${stray}' answers no tool_use of the turn before`
  const missing = [...open].filter((id) => !results.includes(id))
  return missing.length > 0 ? `tool_use without a tool_result: ${missing.join(', ')}` : undefined
}

const isBlank = ({ type, text }: JsonObject): boolean => type === 'text' && (typeof text !== 'string' || text.trim() === '')

const idsOf = (blocks: readonly JsonObject[], type: string, field: string): readonly string[] =>
  blocks.filter((block) => block['type'] === type).map((block) => String(block[field]))
