/** Reads the newest user turn: its text, its tool results, and the directives that still count. Rules: faults.md "Simulator"; the list in `directives.ts`. */

import { isObject, type JsonObject } from '../core/json.ts'
import { mergeTurns } from './conversation.ts'
import { type Directive, findDirectives } from './directives.ts'
import { type Instructions, readInstructions } from './instructions.ts'
import { blocksOf, type NativeRequest, type Turn } from './request.ts'

export type Prompt = Readonly<{
  /** The text that the user wrote, without directives and without the client's additions. */
  text: string
  instructions: Instructions
  results: readonly ToolResult[]
}>

export type ToolResult = Readonly<{ tool: string; text: string; isError: boolean }>

/**
 * A directive fires once. It does not fire from a turn that the assistant has begun to answer; nor, in a turn with tool results, when the client repeats the prompt that led
 * to these. `standing`: directives that every request obeys before its own.
 */
export function readPrompt({ messages }: NativeRequest, standing: readonly Directive[] = []): Prompt {
  const turns = mergeTurns(messages)
  const isAnswered = turns.at(-1)?.role === 'assistant'
  const at = turns.findLastIndex(({ role }) => role === 'user')
  const newest = turns[at]?.blocks ?? []
  const results = newest.filter(({ type }) => type === 'tool_result')
  const { directives, rest } = findDirectives(userText(newest))
  const earlier = results.length === 0 ? '' : turns.slice(0, at).map(textOfUser).join('\n')
  const isFresh = ({ source }: { source: string }): boolean => !isAnswered && !earlier.includes(source)
  return {
    text: rest,
    instructions: readInstructions([...standing, ...directives.filter(isFresh)]),
    results: results.map((block) => readResult(block, turns)),
  }
}

const textOfUser = ({ role, blocks }: Turn): string => (role === 'user' ? userText(blocks) : '')

/** Coding agents add reminders to the user's turn and to tool results; neither is what the person wrote. */
const REMINDER = /<system-reminder>[\s\S]*?(?:<\/system-reminder>|$)/g

const userText = (blocks: readonly JsonObject[]): string => textsOf(blocks).join('\n')

const textsOf = (blocks: readonly JsonObject[]): readonly string[] =>
  blocks
    .flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text.replace(REMINDER, '').trim()] : []))
    .filter((text) => text !== '')

function readResult(block: JsonObject, turns: readonly Turn[]): ToolResult {
  const call = turns.flatMap(({ blocks }) => blocks).findLast(({ type, id }) => type === 'tool_use' && id === block['tool_use_id'])
  return {
    tool: isObject(call) && typeof call['name'] === 'string' ? call['name'] : 'tool',
    text: textsOf(blocksOf(block['content'])).join(' '),
    isError: block['is_error'] === true,
  }
}
