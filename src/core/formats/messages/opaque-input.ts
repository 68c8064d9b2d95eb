/** Whether a request's input may hold more tokens than its body has bytes. Source: product.md "Money" (reserve before the upstream call). */

import { isGiven, isObject, type JsonObject } from '../../json.ts'
import type { Block } from './blocks.ts'

/** True with anything but plain text and plain tools: images, documents, URLs, tools that the upstream runs, and what we do not know. */
export function hasOpaqueInput(json: JsonObject, blocks: readonly Block[]): boolean {
  const tools = Array.isArray(json['tools']) ? json['tools'] : []
  return (
    OPAQUE_FIELDS.some((name) => isGiven(json[name])) ||
    tools.some((tool) => isObject(tool) && !isPlainTool(tool['type'])) ||
    blocks.some(({ block }) => !PLAIN_BLOCKS.has(block['type']))
  )
}

/** The upstream fetches, runs or rewrites something itself. */
const OPAQUE_FIELDS = ['mcp_servers', 'context_management', 'compaction']

/** Blocks that are no longer in tokens than in bytes. */
const PLAIN_BLOCKS = new Set<unknown>([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'search_result',
  'tool_reference',
])

/** Tools that the client runs. */
const isPlainTool = (type: unknown): boolean =>
  !isGiven(type) || type === 'custom' || (typeof type === 'string' && /^(bash|text_editor|memory)_\d+$/.test(type))
