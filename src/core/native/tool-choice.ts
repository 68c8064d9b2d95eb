/**
 * Translates `tool_choice` from any shape of the three formats to the native one. All formats use this one function, so that the same choice means the same
 * in each. Rules: contract.md "Messages request"; translation.md "Tool choice".
 */

import { isGiven, isObject, NOT_A_BOOLEAN } from '../json.ts'
import { invalid, Refusal } from '../refusal.ts'

export type ToolChoice =
  | Readonly<{ type: 'auto' | 'any'; disable_parallel_tool_use?: boolean }>
  | Readonly<{ type: 'tool'; name: string; disable_parallel_tool_use?: boolean }>
  | Readonly<{ type: 'none' }>

export type ToolChoiceContext = Readonly<{
  /** The field that refusals name: `tool_choice`, or chat's older `function_call`. */
  path: string
  /** Names of the tools that go to the upstream. */
  toolNames: readonly string[]
  hasTools: boolean
  /** Tools that the body does not name (toolsets, MCP servers, additions in system messages): the upstream then checks whether a named tool exists. */
  hasImplicitTools: boolean
  /** Whether this format knows `{"type": "allowed_tools", …}`. */
  allowsSubset: boolean
  parallelToolCalls: boolean | undefined
  /** Whether the model accepts a forced choice, `any` or `tool`. */
  canForce: boolean
  /** Types of hosted tools that were dropped from the request: choosing one of them means auto. */
  droppedToolTypes: readonly string[]
}>

/** `onlyTools`: names of the tools to keep; undefined keeps all. */
export type NormalizedToolChoice = Readonly<{ choice: ToolChoice | undefined; onlyTools: readonly string[] | undefined }>

/** Pure and idempotent: a native choice that the model accepts comes back equal to what went in. */
export function normalizeToolChoice(choice: unknown, context: ToolChoiceContext): NormalizedToolChoice | Refusal {
  const read = isGiven(choice) ? readChoice(choice, context) : NO_CHOICE
  if (read instanceof Refusal) return read
  const defined = withTools(read, context)
  if (defined instanceof Refusal) return defined
  return withoutForce(withParallel(defined, context), context)
}

const NO_CHOICE: NormalizedToolChoice = { choice: undefined, onlyTools: undefined }
const AUTO: ToolChoice = { type: 'auto' }
const NAME_LENGTH_SHOWN_MAX = 200

/** Step 1: translates any known shape to a native choice, such as `"required"` to `{"type": "any"}`. */
function readChoice(choice: unknown, context: ToolChoiceContext): NormalizedToolChoice | Refusal {
  if (typeof choice === 'string') return choice === '' ? notAChoice(context) : all(choiceOfWord(choice))
  if (!isObject(choice)) return notAChoice(context)
  const { type, disable_parallel_tool_use: disable } = choice
  if (type === 'none') return all({ type: 'none' })
  if (isGiven(disable) && typeof disable !== 'boolean') return invalid(`${context.path}.disable_parallel_tool_use`, NOT_A_BOOLEAN)
  const parallel = typeof disable === 'boolean' ? { disable_parallel_tool_use: disable } : {}
  if (type === 'auto') return all({ type, ...parallel })
  if (type === 'any' || type === 'required') return all({ type: 'any', ...parallel })
  if (type === 'allowed_tools' && context.allowsSubset) return readSubset(choice, context)
  if (isGiven(type) && !NAMING_TYPES.has(type)) return wasDropped(type, context) ? all(AUTO) : notAChoice(context)
  const name = nameOf(choice)
  return name === undefined ? notAChoice(context) : all({ type: 'tool', name, ...parallel })
}

const NAMING_TYPES: ReadonlySet<unknown> = new Set(['tool', 'function', 'custom'])

const all = (choice: ToolChoice): NormalizedToolChoice => ({ choice, onlyTools: undefined })

const notAChoice = (context: ToolChoiceContext): Refusal => invalid(context.path, 'Input should be one of auto, any, tool, none')

function choiceOfWord(word: string): ToolChoice {
  switch (word) {
    case 'auto':
    case 'none':
    case 'any':
      return { type: word }
    case 'required':
      return { type: 'any' }
    default:
      return { type: 'tool', name: word }
  }
}

/** A tool's name where the formats put it: `name`, `function.name` or `custom.name`. */
function nameOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined
  const holder = [entry, entry['function'], entry['custom']].filter(isObject).find(({ name }) => typeof name === 'string' && name !== '')
  return holder === undefined ? undefined : String(holder['name'])
}

/** Hosted tools have dated and longer names beside their plain ones: `web_search`, `web_search_preview_2025_03_11`. */
const wasDropped = (type: unknown, { droppedToolTypes }: ToolChoiceContext): boolean =>
  typeof type === 'string' && type !== '' && droppedToolTypes.some((dropped) => dropped.startsWith(type) || type.startsWith(dropped))

/** Reads `allowed_tools`. Responses has `mode` and `tools` beside `type`; chat has them one level deeper, inside `allowed_tools`. */
function readSubset(choice: Readonly<Record<string, unknown>>, context: ToolChoiceContext): NormalizedToolChoice | Refusal {
  const subset = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice
  const { mode, tools } = subset
  if (mode !== 'auto' && mode !== 'required') return invalid(`${context.path}.mode`, 'Input should be auto or required')
  if (!Array.isArray(tools)) return invalid(`${context.path}.tools`, 'Input should be a valid array')
  const names = new Set(tools.map(nameOf))
  const onlyTools = context.toolNames.filter((name) => names.has(name))
  if (onlyTools.length === 0) return invalid(`${context.path}.tools`, 'none of the allowed tools is defined in tools')
  return { choice: { type: mode === 'auto' ? 'auto' : 'any' }, onlyTools }
}

/** Step 2: without tools there is nothing to choose, and a named tool must exist. */
function withTools(read: NormalizedToolChoice, context: ToolChoiceContext): NormalizedToolChoice | Refusal {
  const { choice } = read
  if (choice === undefined || context.hasImplicitTools) return read
  if (choice.type === 'tool') return context.toolNames.includes(choice.name) ? read : undefinedTool(choice.name, context)
  return context.hasTools ? read : NO_CHOICE
}

const undefinedTool = (name: string, { path }: ToolChoiceContext): Refusal =>
  invalid(path, `tool "${name.slice(0, NAME_LENGTH_SHOWN_MAX)}" is not defined in tools`)

/** Step 3: turns `parallel_tool_calls: false` of chat and responses into `disable_parallel_tool_use: true`. */
function withParallel(read: NormalizedToolChoice, context: ToolChoiceContext): NormalizedToolChoice {
  const hasAnyTools = context.hasTools || context.hasImplicitTools
  const choice = read.choice ?? (hasAnyTools ? AUTO : undefined)
  if (context.parallelToolCalls !== false || choice === undefined || choice.type === 'none') return read
  return { ...read, choice: { ...choice, disable_parallel_tool_use: true } }
}

/** Step 4: for a model that refuses a forced choice, the choice becomes `auto`; if the request named one tool, only that tool is kept. */
function withoutForce(read: NormalizedToolChoice, context: ToolChoiceContext): NormalizedToolChoice {
  const { choice, onlyTools } = read
  if (context.canForce || choice === undefined || (choice.type !== 'any' && choice.type !== 'tool')) return read
  const { disable_parallel_tool_use: disable } = choice
  const auto: ToolChoice = disable === undefined ? AUTO : { type: 'auto', disable_parallel_tool_use: disable }
  const isNamed = choice.type === 'tool' && context.toolNames.includes(choice.name)
  return { choice: auto, onlyTools: isNamed ? [choice.name] : onlyTools }
}
