/**
 * Tools of the translated formats to native ones: their definitions, and which of them a model gets with which choice. Unknown keys of a schema are
 * kept. Rules: native.md "What native refuses"; translation.md "Tools".
 */

import type { Model } from '../../catalog.ts'
import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { NAME } from '../../native/names.ts'
import type { CacheControl, NativeTool, Turn } from '../../native/shapes.ts'
import { normalizeToolChoice, type ToolChoice } from '../../native/tool-choice.ts'
import { invalid, Refusal } from '../../refusal.ts'

/** The fields of a function definition, whether chat nests them in `function` or responses writes them flat. */
type Definition = JsonObject

/** `{name, description?, parameters?}` to a native tool. `path` names the object that holds the fields. */
export function functionTool(definition: Definition, path: string, cacheControl?: CacheControl): NativeTool | Refusal {
  const schema = objectSchema(definition['parameters'], `${path}.parameters`)
  return schema instanceof Refusal ? schema : nativeTool(definition, definition['description'], schema, path, cacheControl)
}

/** `{name, description?, format?}`, a tool of free text: native gets an object with one string, `input`, and the grammar as part of its description. */
export function customTool(definition: Definition, path: string, cacheControl?: CacheControl): NativeTool | Refusal {
  const grammar = grammarText(definition['format'])
  const description = [definition['description'], grammar].filter((text) => typeof text === 'string' && text !== '').join('\n\n')
  const isWrong = isGiven(definition['description']) && typeof definition['description'] !== 'string'
  return isWrong ? invalid(`${path}.description`, NOT_A_STRING) : nativeTool(definition, description, FREE_TEXT, path, cacheControl)
}

const FREE_TEXT: JsonObject = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }

/** Undefined when native accepts the name. */
export function checkToolName(name: unknown, path: string): Refusal | undefined {
  if (!isGiven(name)) return invalid(path, REQUIRED)
  if (typeof name !== 'string') return invalid(path, NOT_A_STRING)
  return NAME.test(name) ? undefined : invalid(path, `String should match pattern '${NAME.source}'`)
}

/** Native refuses two tools of one name. */
function checkUniqueNames(tools: readonly NativeTool[]): Refusal | undefined {
  const seen = new Set<string>()
  for (const { name } of tools) {
    if (seen.has(name)) return invalid('tools', `tool names must be unique, "${name}" is not`)
    seen.add(name)
  }
  return undefined
}

function nativeTool(
  { name }: Definition,
  description: unknown,
  schema: JsonObject,
  path: string,
  cacheControl?: CacheControl,
): NativeTool | Refusal {
  const wrongName = checkToolName(name, `${path}.name`)
  if (wrongName !== undefined) return wrongName
  if (isGiven(description) && typeof description !== 'string') return invalid(`${path}.description`, NOT_A_STRING)
  return {
    name: String(name),
    ...(description ? { description: String(description) } : {}),
    input_schema: schema,
    ...(cacheControl === undefined ? {} : { cache_control: cacheControl }),
  }
}

/** The schema of a tool's input. Native takes only an object at the top; a schema without a type counts as one. */
function objectSchema(parameters: unknown, path: string): JsonObject | Refusal {
  if (!isGiven(parameters)) return { type: 'object', properties: {} }
  if (!isObject(parameters)) return invalid(path, NOT_AN_OBJECT)
  const { type } = parameters
  if (isGiven(type) && type !== 'object') return invalid(`${path}.type`, 'Input should be object')
  if (Object.keys(parameters).length === 0) return { type: 'object', properties: {} }
  return { ...parameters, type: 'object' }
}

/** `{type:"grammar",syntax,definition}` (responses) or `{type:"grammar",grammar:{syntax,definition}}` (chat). */
function grammarText(format: unknown): string | undefined {
  if (!isObject(format) || format['type'] !== 'grammar') return undefined
  const grammar = isObject(format['grammar']) ? format['grammar'] : format
  const { syntax, definition } = grammar
  return typeof definition === 'string'
    ? `The input must match this ${typeof syntax === 'string' ? syntax : 'formal'} grammar:\n${definition}`
    : undefined
}

/** What a client wants of its tools. */
export type ToolWish = Readonly<{
  tools: readonly NativeTool[]
  /** The tool choice as the client wrote it, in any shape. */
  toolChoice: unknown
  /** The field that a refusal of the choice names. */
  toolChoicePath: string
  parallelToolCalls: boolean | undefined
  /** Types of hosted tools that were left out: a choice of one of them means auto. */
  droppedToolTypes: readonly string[]
}>

/** The conversation, and whether any tool was used in it. */
type History = Readonly<{ turns: readonly Turn[]; hasTools: boolean }>

type Toolset = Readonly<{ tools: readonly NativeTool[]; choice: ToolChoice | undefined }>

/** Tools and choice as this model takes them. A history with tool blocks needs definitions, even where the client sends none. */
export function toolsFor(wish: ToolWish, { rejects }: Model, history: History): Toolset | Refusal {
  const problem = checkUniqueNames(wish.tools)
  if (problem !== undefined) return problem
  const normalized = normalizeToolChoice(wish.toolChoice, {
    path: wish.toolChoicePath,
    toolNames: wish.tools.map(({ name }) => name),
    hasTools: wish.tools.length > 0,
    hasImplicitTools: false,
    allowsSubset: true,
    parallelToolCalls: wish.parallelToolCalls,
    canForce: !rejects.has('forced_tool_choice') && !rejects.has('tool_choice'),
    droppedToolTypes: wish.droppedToolTypes,
  })
  if (normalized instanceof Refusal) return normalized
  if (rejects.has('tools')) return { tools: [], choice: undefined }
  const { choice, onlyTools } = normalized
  const kept = onlyTools === undefined ? undefined : new Set(onlyTools)
  const tools = kept === undefined ? wish.tools : wish.tools.filter(({ name }) => kept.has(name))
  const toolset: Toolset =
    tools.length === 0 && history.hasTools
      ? { tools: usedToolNames(history.turns).map(placeholder), choice: { type: 'none' } }
      : { tools, choice }
  return rejects.has('tool_choice') ? withoutChoice(toolset, history) : toolset
}

/** The toolset for a model that takes no `tool_choice`. The choice `none` then leaves the tools out, unless the history needs them. */
const withoutChoice = ({ tools, choice }: Toolset, history: History): Toolset => ({
  tools: choice?.type === 'none' && !history.hasTools ? [] : tools,
  choice: undefined,
})

/** The names of the tools that the history used, each once, in order. */
const usedToolNames = (turns: readonly Turn[]): readonly string[] => [
  ...new Set(
    turns.flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_use').map((block) => String(block['name'])),
    ),
  ),
]

const placeholder = (name: string): NativeTool => ({ name, input_schema: { type: 'object' } })
