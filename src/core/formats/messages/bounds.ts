/**
 * The facts that may make a request dearer than its body suggests: input with more tokens than bytes, and the work that the upstream may do by itself. Rules: money.md
 * "Holds".
 */

import type { Model } from '../../catalog.ts'
import { addMedia, inputEstimate, mediaOf, NO_MEDIA } from '../../input-estimate.ts'
import { isGiven, isObject, type JsonObject } from '../../json.ts'
import type { PlacedBlock } from '../../native/request-blocks.ts'
import { type Bounds, PASSES_MAX } from '../../pricing.ts'
import { SERVER_TOOL_USES_MAX } from '../../usage.ts'

/** `bodyBytes`: the size of the native body. */
export function boundsOf(
  json: JsonObject,
  blocks: readonly PlacedBlock[],
  model: Model,
  { bodyBytes, cacheWrites }: Pick<Bounds, 'bodyBytes' | 'cacheWrites'>,
): Bounds {
  const serverToolUsesMax = serverToolUsesMaxOf(json)
  const opaque = blocks.filter(({ block }) => !PLAIN_BLOCKS.has(block['type']))
  const hasOpaqueInput = opaque.length > 0 || runsTools(json)
  const media = opaque.reduce((sum, { block }) => addMedia(sum, mediaOf(block)), NO_MEDIA)
  return {
    bodyBytes,
    hasOpaqueInput,
    passes: passesOf(json, serverToolUsesMax),
    serverToolUsesMax,
    cacheWrites,
    outputTokensMax: Math.min(Number(json['max_tokens'] ?? 0), model.maxOutputTokens),
    bytesPerToken: model.bytesPerToken,
    inputEstimate: inputEstimate({ bodyBytes, media, isBounded: !hasOpaqueInput }, model),
  }
}

/** Whether the request has tools that the upstream runs and whose results it reads. Context management does not count: it only makes an input smaller. */
const runsTools = (json: JsonObject): boolean => isGiven(json['mcp_servers']) || serverToolsOf(json).length > 0

/** Types of blocks that never have more tokens than bytes. All others are opaque: images, documents, URLs, and unknown types. */
const PLAIN_BLOCKS = new Set<unknown>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'search_result',
  'tool_reference',
])

/** The number of uses that is assumed where a tool has no `max_uses`. */
const USES_UNNAMED = 5

/** The tools that the upstream runs, and tools of unknown types. */
const serverToolsOf = (json: JsonObject): readonly JsonObject[] =>
  (Array.isArray(json['tools']) ? json['tools'] : []).filter((tool) => isObject(tool) && !isPlainTool(tool['type']))

/** Whether a tool of this type is run by the client. */
const isPlainTool = (type: unknown): boolean =>
  !isGiven(type) || type === 'custom' || (typeof type === 'string' && /^(bash|text_editor|memory|computer)_\d+$/.test(type))

/** Uses of the upstream's tools that the request allows. A toolset is a part of its MCP server, which counts as one tool. */
function serverToolUsesMaxOf(json: JsonObject): number {
  const tools = serverToolsOf(json).filter(({ type }) => type !== 'mcp_toolset')
  const servers = Array.isArray(json['mcp_servers']) ? json['mcp_servers'].length : 0
  const uses = tools.reduce((sum, tool) => sum + usesMaxOf(tool), servers * USES_UNNAMED)
  return Math.min(uses, SERVER_TOOL_USES_MAX)
}

const usesMaxOf = ({ max_uses: uses }: JsonObject): number => (Number.isInteger(uses) && Number(uses) >= 0 ? Number(uses) : USES_UNNAMED)

/** How often the upstream may read the input again: once for each use of its own tools, and to make the context smaller. */
const passesOf = (json: JsonObject, serverToolUsesMax: number): number =>
  Math.min(PASSES_MAX, serverToolUsesMax + (CONTEXT_FIELDS.some((name) => isGiven(json[name])) ? 1 : 0))

const CONTEXT_FIELDS = ['context_management', 'compaction']
