/** How an upstream of kind `openai` wants to be spoken to: servers of the chat format differ in a few things, which the upstream's settings state. Rules: openai.md "Settings". */

import type { JsonObject } from './json.ts'

/** The field whose reasoning is shown, and in which reasoning goes back to the server. `auto`: the field that it came in. */
export const REASONING_SETTINGS = ['auto', 'reasoning_content', 'reasoning', 'none'] as const
export type ReasoningSetting = (typeof REASONING_SETTINGS)[number]

export const MAX_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const

export type ChatDialect = Readonly<{
  reasoning: ReasoningSetting
  /** The request field that holds the cap on the output. */
  maxTokensField: (typeof MAX_TOKENS_FIELDS)[number]
  /** The gateway asks for usage in streams. */
  streamUsage: boolean
  /** Top-level fields that the upstream refuses. */
  dropFields: readonly string[]
  /** Top-level fields that the upstream takes beside those of the format. */
  passFields: readonly string[]
}>

/** A request as one kind of server takes it. `modelAt`: where the JSON string that names the model begins. */
export type ChatBody = Readonly<{ body: Uint8Array; modelAt: number }>

/** A schema that the answer must have, as chat's `json_schema`; `hint`: the sentence that asks for the same at the end of a system prompt. */
export type StrictSchema = Readonly<{ schema: JsonObject; hint: string }>
