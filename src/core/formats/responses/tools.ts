/**
 * Tools of a responses request: functions, custom tools and namespaces become native tools under flat names; hosted tools are left out, since the gateway does not run them.
 * Rules: responses.md "Tools"; translation.md "Tools".
 */

import type { Sha256Hex } from '../../format.ts'
import { isGiven, isObject, type JsonObject, NOT_A_STRING, NOT_AN_ARRAY, NOT_AN_OBJECT, REQUIRED } from '../../json.ts'
import { cleanName, NAME, NAME_LENGTH_MAX } from '../../native/names.ts'
import type { NativeTool } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { readCacheControl } from '../translate/caching.ts'
import { customTool, functionTool } from '../translate/tools.ts'
import type { ToolName } from './wire.ts'

/** The flat names of tools, by `nameKey`, and by the name alone, which leads to the first tool that has it. */
export type FlatNames = ReadonlyMap<string, string>

export type Tools = Readonly<{
  tools: readonly NativeTool[]
  /** The client's names, by the flat names. */
  names: ReadonlyMap<string, ToolName>
  flatNames: FlatNames
  /** Types of the hosted tools that were left out. */
  droppedTypes: readonly string[]
}>

export function readTools(value: unknown, sha256Hex: Sha256Hex): Tools | Refusal {
  const tools: NativeTool[] = []
  const names = new Map<string, ToolName>()
  const flatNames = new Map<string, string>()
  const droppedTypes: string[] = []
  if (isGiven(value) && !Array.isArray(value)) return invalid('tools', NOT_AN_ARRAY)
  for (const { definition, path, namespace } of flatten(Array.isArray(value) ? value : [])) {
    const kind = kindOf(definition, path)
    if (kind instanceof Refusal) return kind
    if (typeof kind === 'object') {
      droppedTypes.push(kind.dropped)
      continue
    }
    const tool = readTool(kind, definition as JsonObject, { path, namespace, sha256Hex })
    if (tool instanceof Refusal) return tool
    tools.push(tool)
    const name = String((definition as JsonObject)['name'])
    names.set(tool.name, { kind, name, namespace })
    for (const key of [nameKey(name, namespace), name]) if (!flatNames.has(key)) flatNames.set(key, tool.name)
  }
  return { tools, names, flatNames, droppedTypes }
}

type Entry = Readonly<{ definition: unknown; path: string; namespace: string | undefined }>

/** Puts a namespace's members in its place. A namespace's name is bounded, since every member's native name is made from it. */
const flatten = (values: readonly unknown[]): readonly Entry[] =>
  values.flatMap((value, index): readonly Entry[] => {
    const path = `tools.${index}`
    const { type, name: namespace, tools }: JsonObject = isObject(value) ? value : {}
    const isNamespace = type === 'namespace' && typeof namespace === 'string' && namespace.length <= NAME_LENGTH_MAX
    if (!isNamespace || !Array.isArray(tools)) return [{ definition: value, path, namespace: undefined }]
    return tools.map((definition: unknown, at) => ({ definition, path: `${path}.tools.${at}`, namespace }))
  })

function kindOf(definition: unknown, path: string): ToolName['kind'] | { dropped: string } | Refusal {
  if (!isObject(definition)) return invalid(path, NOT_AN_OBJECT)
  const { type } = definition
  if (!isGiven(type)) return invalid(`${path}.type`, REQUIRED)
  if (typeof type !== 'string') return invalid(`${path}.type`, NOT_A_STRING)
  if (type === 'namespace') return invalid(path, `a namespace needs a name of at most ${NAME_LENGTH_MAX} characters and an array of tools`)
  return type === 'function' || type === 'custom' ? type : { dropped: type }
}

type ToolContext = Readonly<{ path: string; namespace: string | undefined; sha256Hex: Sha256Hex }>

function readTool(kind: ToolName['kind'], definition: JsonObject, { path, namespace, sha256Hex }: ToolContext): NativeTool | Refusal {
  const marker = readCacheControl(definition['cache_control'], `${path}.cache_control`)
  if (marker instanceof Refusal) return marker
  const { name } = definition
  const flat =
    namespace !== undefined && typeof name === 'string' ? { ...definition, name: joinName(namespace, name, sha256Hex) } : definition
  return kind === 'custom' ? customTool(flat, path, marker) : functionTool(flat, path, marker)
}

const HASH_LENGTH = 8

/** `namespace__name`; where native would refuse this name, a cleaned and shortened one with a hash of the whole, so that it stays unique. */
function joinName(namespace: string, name: string, sha256Hex: Sha256Hex): string {
  const joined = `${namespace}__${name}`
  if (NAME.test(joined)) return joined
  const hash = sha256Hex(joined).slice(0, HASH_LENGTH)
  return `${cleanName(joined).slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1)}_${hash}`
}

/** The key under which a tool of this name and namespace (or of no namespace) is found. */
const nameKey = (name: string, namespace: unknown): string => JSON.stringify([namespace ?? null, name])

/** What a flat name is looked up in, and made with. */
type Naming = Readonly<{ flatNames: FlatNames; sha256Hex: Sha256Hex }>

/** The flat name of a tool that the client names: the declared one, else the one that a declaration would have given it. */
export function flatName(name: string, namespace: unknown, { flatNames, sha256Hex }: Naming): string {
  const known = declaredName(name, namespace, flatNames)
  if (known !== undefined) return known
  return typeof namespace === 'string' && namespace !== '' ? joinName(namespace, name, sha256Hex) : cleanName(name)
}

/** The flat name of a declared tool. A name without a namespace means the tool outside all namespaces, else the first tool of that name. */
const declaredName = (name: string, namespace: unknown, flatNames: FlatNames): string | undefined =>
  flatNames.size === 0 ? undefined : (flatNames.get(nameKey(name, namespace)) ?? (isGiven(namespace) ? undefined : flatNames.get(name)))

/** A tool choice with the client's names replaced by flat ones. A name that was not declared stays, and so do shapes that name no tool: refusals show them. */
export function flattenChoice(choice: unknown, flatNames: FlatNames): unknown {
  if (typeof choice === 'string') return CHOICE_WORDS.has(choice) ? choice : (declaredName(choice, undefined, flatNames) ?? choice)
  if (!isObject(choice)) return choice
  if (choice['type'] === 'allowed_tools') {
    const subset = isObject(choice['allowed_tools']) ? choice['allowed_tools'] : choice
    const { mode, tools } = subset
    return { type: 'allowed_tools', mode, tools: Array.isArray(tools) ? tools.map((tool) => flattenChoice(tool, flatNames)) : tools }
  }
  const { name, namespace } = choice
  return typeof name === 'string' ? { ...choice, name: declaredName(name, namespace, flatNames) ?? name } : choice
}

const CHOICE_WORDS: ReadonlySet<string> = new Set(['auto', 'any', 'required', 'none'])

/** The choice as the response object repeats it: in the shapes of this format only. A choice of a hosted tool, or an absent one, is shown as auto. */
export function shownChoice(choice: unknown): unknown {
  if (typeof choice === 'string') return shownWord(choice)
  if (!isObject(choice)) return 'auto'
  const { type, mode, tools } = choice
  if (type === 'allowed_tools')
    return isObject(choice['allowed_tools']) ? shownChoice({ type, ...choice['allowed_tools'] }) : { type, mode, tools }
  const holder = [choice, choice['function'], choice['custom']].filter(isObject).find(({ name }) => typeof name === 'string')
  if (holder !== undefined) return { type: type === 'custom' ? 'custom' : 'function', name: holder['name'] }
  return typeof type === 'string' && CHOICE_WORDS.has(type) ? shownWord(type) : 'auto'
}

function shownWord(word: string): unknown {
  if (!CHOICE_WORDS.has(word)) return { type: 'function', name: word }
  return word === 'any' ? 'required' : word
}
