/** Shapes of the responses format: the parts of a request that are echoed, and the parts of an answer. Rules: responses.md "Object". */

import type { FinishedItem } from '../../transcoder.ts'

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** A tool as the client declared it. The upstream knows it under one flat name; see tools.ts. */
export type ToolName = Readonly<{ kind: 'function' | 'custom'; name: string; namespace: string | undefined }>

/** The parts of the request that a response object repeats. Tools and instructions are not repeated: no client reads them, and they are large. */
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

/** What writing the answer needs of its request. */
export type ResponsesEcho = Readonly<{
  fields: Echoed
  /** The tools, by the flat name that the upstream knows. */
  tools: ReadonlyMap<string, ToolName>
  /** The input items as JSON, with references resolved; undefined when `store: false` forbids remembering the answer. */
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
