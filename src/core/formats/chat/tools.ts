/**
 * Chat's `tools` and its older `functions` to native tools, and native calls to chat's. Rules: chat.md "Request", "Answer", "Chunks"; translation.md "Tools".
 */

import { isGiven, isObject, type JsonObject, NOT_AN_ARRAY, NOT_AN_OBJECT } from '../../json.ts'
import type { NativeTool } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { argumentsText, customInput } from '../translate/arguments.ts'
import { readCacheControl } from '../translate/caching.ts'
import { checkToolName, customTool, functionTool } from '../translate/tools.ts'
import type { FunctionCall, ToolCall } from './wire.ts'

export type ChatTools = Readonly<{
  tools: readonly NativeTool[]
  /** Names of the tools whose calls carry free text. */
  customTools: ReadonlySet<string>
  /** The tools came as `functions`. */
  isLegacy: boolean
}>

/** `functions` counts only where `tools` is absent. */
export function readTools(body: JsonObject): ChatTools | Refusal {
  const isLegacy = !isGiven(body['tools']) && isGiven(body['functions'])
  const path = isLegacy ? 'functions' : 'tools'
  const entries = body[path] ?? []
  if (!Array.isArray(entries)) return invalid(path, NOT_AN_ARRAY)
  if (entries.length === 0) return NO_TOOLS
  const tools: NativeTool[] = []
  const customTools = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    if (!isObject(entry)) return invalid(`${path}[${index}]`, NOT_AN_OBJECT)
    const tool = isLegacy ? functionTool(entry, `${path}[${index}]`) : readTool(entry, `${path}[${index}]`)
    if (tool instanceof Refusal) return tool
    tools.push(tool)
    if (!isLegacy && entry['type'] === 'custom' && !isNativeTool(entry)) customTools.add(tool.name)
  }
  return { tools, customTools, isLegacy: isLegacy && tools.length > 0 }
}

const NO_TOOLS: ChatTools = { tools: [], customTools: new Set(), isLegacy: false }

function readTool(entry: JsonObject, path: string): NativeTool | Refusal {
  if (isNativeTool(entry)) return readNativeTool(entry, path)
  const kind = entry['type'] ?? 'function'
  if (kind !== 'function' && kind !== 'custom')
    return invalid(`${path}.type`, `tool type ${JSON.stringify(kind).slice(0, 100)} is not supported`)
  const definition = entry[kind]
  if (!isObject(definition)) return invalid(`${path}.${kind}`, NOT_AN_OBJECT)
  const marker =
    readCacheControl(entry['cache_control'], `${path}.cache_control`) ??
    readCacheControl(definition['cache_control'], `${path}.${kind}.cache_control`)
  if (marker instanceof Refusal) return marker
  return kind === 'function' ? functionTool(definition, `${path}.${kind}`, marker) : customTool(definition, `${path}.${kind}`, marker)
}

/** Native tools in a chat request: some clients send them so. Such a tool has its schema under the native name, `input_schema`. */
const isNativeTool = (entry: JsonObject): boolean => isObject(entry['input_schema']) && (entry['type'] ?? 'custom') === 'custom'

function readNativeTool(entry: JsonObject, path: string): NativeTool | Refusal {
  const { name, input_schema, cache_control, ...rest } = entry
  const wrongName = checkToolName(name, `${path}.name`)
  if (wrongName !== undefined) return wrongName
  const marker = readCacheControl(cache_control, `${path}.cache_control`)
  if (marker instanceof Refusal) return marker
  const schema = input_schema as JsonObject
  if (isGiven(schema['type']) && schema['type'] !== 'object') return invalid(`${path}.input_schema.type`, 'Input should be object')
  return {
    ...rest,
    name: String(name),
    input_schema: { ...schema, type: 'object' },
    ...(marker === undefined ? {} : { cache_control: marker }),
  }
}

/** The parts of a native `tool_use` block that chat shows, in a complete answer or in the first chunk of a call. */
export type Called = Readonly<{ id: string; name: string }>

/** `position` counts tool calls from 0; an id is made of it where the upstream gave none. */
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
