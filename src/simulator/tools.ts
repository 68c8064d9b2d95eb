/**
 * The tools of a request: whether a native upstream would take them, and which of them the simulator may call.
 * Rules: native.md "Request fields", "What native refuses".
 */

import { isObject, type JsonObject } from '../core/json.ts'
import type { NativeRequest } from './request.ts'

const NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** The first problem, with its path; undefined when there is none. */
export function checkTools({ tools, toolChoice, messages }: NativeRequest): string | undefined {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const name = nameOf(tool)
    if (!NAME.test(name)) return `tools.${index}.name: must match ${NAME.source}`
    if (names.has(name)) return `tools.${index}.name: tool names must be unique`
    names.add(name)
    if (!isTyped(tool) && !hasObjectSchema(tool)) return `tools.${index}.input_schema.type: must be "object"`
  }
  if ((toolChoice.kind === 'any' || toolChoice.kind === 'tool') && tools.length === 0) return 'tool_choice: needs tools'
  if (toolChoice.kind === 'tool' && !names.has(toolChoice.name)) return `tool_choice: no tool is named '${toolChoice.name}'`
  const hasToolBlocks = messages.some(({ blocks }) => blocks.some(({ type }) => type === 'tool_use' || type === 'tool_result'))
  return hasToolBlocks && tools.length === 0 ? 'tools: must be defined when messages contain tool_use or tool_result blocks' : undefined
}

/** Tools that a model calls of its own accord: those that have a schema and are not deferred. */
export const callableTools = (tools: readonly JsonObject[]): readonly JsonObject[] =>
  tools.filter((tool) => isObject(tool['input_schema']) && tool['defer_loading'] !== true)

/** The tool of that name, also when only the case differs: clients name the same tool `Write` and `write`. */
export const findTool = (tools: readonly JsonObject[], name: string): JsonObject | undefined =>
  tools.find((tool) => nameOf(tool) === name) ?? tools.find((tool) => nameOf(tool).toLowerCase() === name.toLowerCase())

export const nameOf = (tool: JsonObject): string => (typeof tool['name'] === 'string' ? tool['name'] : '')

const isTyped = (tool: JsonObject): boolean => typeof tool['type'] === 'string' && tool['type'] !== 'custom'

function hasObjectSchema(tool: JsonObject): boolean {
  const schema = tool['input_schema']
  return isObject(schema) && schema['type'] === 'object' && !['oneOf', 'anyOf', 'allOf'].some((word) => word in schema)
}
