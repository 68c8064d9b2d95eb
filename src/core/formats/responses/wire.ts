/** Shapes of the responses format: what is echoed of a request and what an answer is made of. Rules: responses.md "Object". */

import type { FinishedItem } from '../../transcoder.ts'

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** A tool as the client declared it. The upstream knows it under one flat name; see tools.ts. */
export type ToolName = Readonly<{ kind: 'function' | 'custom'; name: string; namespace: string | undefined }>

/** What a response object says of its request. Tools and instructions are not repeated: no client reads them and they are large. */
export type Echoed = Readonly<{
  max_output_tokens: number | null
  parallel_tool_calls: boolean
  previous_response_id: string | null
  prompt_cache_key: string | null
  reasoning: Readonly<{ effort: string | null; summary: string | null }>
  safety_identifier: string | null
  temperature: number
  text: Readonly<Record<string, unknown>>
  tool_choice: unknown
  top_p: number
  user: string | null
  metadata: Readonly<Record<string, unknown>>
}>

/** What the answer needs of its request. */
export type ResponsesEcho = Readonly<{
  fields: Echoed
  /** By the flat name that the upstream knows. */
  tools: ReadonlyMap<string, ToolName>
  /** Input items after references were resolved, as they are written; undefined when `store: false` forbids to remember the answer. */
  remembered: readonly FinishedItem[] | undefined
}>

export type ResponsesUsage = Readonly<{
  input_tokens: number
  input_tokens_details: Readonly<{ cached_tokens: number; cache_write_tokens: number; cache_write_1h_tokens?: number }>
  output_tokens: number
  output_tokens_details: Readonly<{ reasoning_tokens: number }>
  total_tokens: number
  cost_usd?: number
  cost_usd_exact?: string
}>
