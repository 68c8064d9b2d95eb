/** One native `tool_use` block to the call that chat shows, complete or as the head of a stream of it. Rules: chat.md "Answer", "Chunks". */

import { argumentsText, customInput } from '../translate/tool-input.ts'
import type { FunctionCall, ToolCall } from './wire.ts'

export type Called = Readonly<{ id: string; name: string }>

/** `position` counts tool calls from 0 and stands in for an id that the upstream forgot. */
export const calledOf = (block: Readonly<Record<string, unknown>>, position: number): Called => ({
  id: typeof block['id'] === 'string' && block['id'] !== '' ? block['id'] : `call_${position}`,
  name: typeof block['name'] === 'string' ? block['name'] : '',
})

export const functionCall = ({ name }: Called, input: unknown): FunctionCall => ({ name, arguments: argumentsText(input) })

export function toolCall(called: Called, input: unknown, customTools: ReadonlySet<string>): ToolCall {
  const { id, name } = called
  if (!customTools.has(name)) return { id, type: 'function', function: functionCall(called, input) }
  return { id, type: 'custom', custom: { name, input: customInput(argumentsText(input)) } }
}
