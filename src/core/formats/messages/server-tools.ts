/** What a request lets the upstream do by itself: run its own tools, and pass over the input again for each use. Rules: money.md "Holds". */

import { isGiven, isObject, type JsonObject } from '../../json.ts'
import { PASSES_MAX } from '../../pricing.ts'
import { SERVER_TOOL_USES_MAX } from '../../usage.ts'

/** Where a tool names no `max_uses`. */
const USES_UNNAMED = 5

/** Tools that the upstream runs, and what we do not know. */
export const serverToolsOf = (json: JsonObject): readonly JsonObject[] =>
  (Array.isArray(json['tools']) ? json['tools'] : []).filter((tool) => isObject(tool) && !isPlainTool(tool['type']))

/** Tools that the client runs. */
const isPlainTool = (type: unknown): boolean =>
  !isGiven(type) || type === 'custom' || (typeof type === 'string' && /^(bash|text_editor|memory|computer)_\d+$/.test(type))

/** Uses of the upstream's tools that the request allows. A toolset is a part of its MCP server, which counts as one tool. */
export function serverToolUsesMaxOf(json: JsonObject): number {
  const tools = serverToolsOf(json).filter(({ type }) => type !== 'mcp_toolset')
  const servers = Array.isArray(json['mcp_servers']) ? json['mcp_servers'].length : 0
  const uses = tools.reduce((sum, tool) => sum + usesMaxOf(tool), servers * USES_UNNAMED)
  return Math.min(uses, SERVER_TOOL_USES_MAX)
}

const usesMaxOf = ({ max_uses: uses }: JsonObject): number => (Number.isInteger(uses) && Number(uses) >= 0 ? Number(uses) : USES_UNNAMED)

/** How often the upstream may read the input once more: for each use of a tool of its own, and to make the context smaller. */
export const passesOf = (json: JsonObject, serverToolUsesMax: number): number =>
  Math.min(PASSES_MAX, serverToolUsesMax + (CONTEXT_FIELDS.some((name) => isGiven(json[name])) ? 1 : 0))

const CONTEXT_FIELDS = ['context_management', 'compaction']
