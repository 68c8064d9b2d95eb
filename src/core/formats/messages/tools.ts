/**
 * The tools of a messages request as far as `tool_choice` needs them: the tools that the choice may name, and those that stay when the model refuses a forced choice.
 * Rules: contract.md "Messages request"; translation.md "Tool choice".
 */

import type { Body } from '../../body.ts'
import { type ByteString, decode, encodeJson, fromBytes } from '../../bytes/byte-string.ts'
import { parseExact } from '../../bytes/exact-json.ts'
import type { Model } from '../../catalog.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { PlacedBlock } from '../../native/request-blocks.ts'
import { type NormalizedToolChoice, normalizeToolChoice } from '../../native/tool-choice.ts'
import type { Refusal } from '../../refusal.ts'

export function readToolChoice(json: JsonObject, blocks: readonly PlacedBlock[], model: Model): NormalizedToolChoice | Refusal {
  const tools: readonly unknown[] = Array.isArray(json['tools']) ? json['tools'] : []
  const toolNames = tools.map(nameOf).filter((name) => name !== undefined)
  return normalizeToolChoice(json['tool_choice'], {
    path: 'tool_choice',
    toolNames,
    hasTools: tools.length > 0,
    hasImplicitTools:
      toolNames.length < tools.length || hasGivenServers(json) || blocks.some(({ block }) => block['type'] === 'tool_addition'),
    allowsSubset: false,
    parallelToolCalls: undefined,
    canForce: !model.rejects.has('forced_tool_choice'),
    droppedToolTypes: [],
  })
}

const nameOf = (tool: unknown): string | undefined => (isObject(tool) && typeof tool['name'] === 'string' ? tool['name'] : undefined)

const hasGivenServers = (json: JsonObject): boolean => Array.isArray(json['mcp_servers']) && json['mcp_servers'].length > 0

export const isKept = (tool: unknown, names: readonly string[]): boolean => names.includes(nameOf(tool) ?? '')

/** The JSON of the tools with these names, with their numbers letter by letter. */
export function keptTools({ bytes, members }: Body, names: readonly string[]): ByteString {
  const value = members.findLast(({ name }) => name === 'tools')?.value
  const tools = parseExact(decode(fromBytes(bytes.subarray(value?.start, value?.end)))) as readonly unknown[]
  return encodeJson(tools.filter((tool) => isKept(tool, names)))
}
