/** Whether a request's input may hold more tokens than its body has bytes. Rules: money.md "Holds". */

import { isGiven, type JsonObject } from '../../json.ts'
import type { Block } from '../../native/request-blocks.ts'
import { serverToolsOf } from './server-tools.ts'

/**
 * True with anything but plain text and plain tools: images, documents, URLs, tools that the upstream runs and whose results it reads, and what we do not
 * know. Context management only makes an input smaller.
 */
export const hasOpaqueInput = (json: JsonObject, blocks: readonly Block[]): boolean =>
  isGiven(json['mcp_servers']) || serverToolsOf(json).length > 0 || blocks.some(({ block }) => !PLAIN_BLOCKS.has(block['type']))

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
