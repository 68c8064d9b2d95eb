/** Native tools and the choice among them, as chat has them. Rules: openai.md "Native requests". */

import type { Model } from '../../../catalog.ts'
import { isGiven, isObject, type JsonObject } from '../../../json.ts'
import { invalid, Refusal } from '../../../refusal.ts'

/** Fields that say how a tool is cached, found or streamed; without them the tool is the same. */
const HINTS = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
])

/** The members `tools` and `tool_choice` of a chat request; neither without tools, since then there is nothing to choose. */
export function chatTools(json: JsonObject, { rejects }: Pick<Model, 'rejects'>): JsonObject | Refusal {
  const tools: readonly unknown[] = Array.isArray(json['tools']) ? json['tools'] : []
  if (tools.length === 0) return {}
  if (rejects.has('tools')) return invalid('tools', 'are not supported by this model')
  const functions: JsonObject[] = []
  for (const [index, tool] of tools.entries()) {
    const made = functionOf(tool, `tools.${index}`)
    if (made instanceof Refusal) return made
    functions.push(made)
  }
  return { tools: functions, ...choiceOf(json['tool_choice'], rejects) }
}

function functionOf(tool: unknown, path: string): JsonObject | Refusal {
  if (!isObject(tool)) return invalid(path, 'Input should be a valid object')
  const { type, name, description, input_schema: parameters, strict } = tool
  if (isGiven(type) && type !== 'custom') return invalid(`${path}.type`, `${String(type).slice(0, 100)} is not supported by this model`)
  const unknown = Object.keys(tool).find((field) => !HINTS.has(field) && isGiven(tool[field]))
  if (unknown !== undefined) return invalid(`${path}.${unknown}`, 'is not supported by this model')
  return {
    type: 'function',
    function: {
      name,
      ...(isGiven(description) ? { description } : {}),
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  }
}

function choiceOf(choice: unknown, rejects: Model['rejects']): JsonObject {
  if (!isObject(choice)) return {}
  const { type, name, disable_parallel_tool_use: isSingle } = choice
  const parallel = isSingle === true && !rejects.has('parallel_tools') ? { parallel_tool_calls: false } : {}
  if (rejects.has('tool_choice')) return parallel
  switch (type) {
    case 'any':
      return { tool_choice: 'required', ...parallel }
    case 'tool':
      return { tool_choice: { type: 'function', function: { name } }, ...parallel }
    case 'none':
      return { tool_choice: 'none' }
    default:
      return { tool_choice: 'auto', ...parallel }
  }
}
