/** How an upstream of kind `openai` wants to be spoken to: servers of the chat format differ in a few things, and its settings say in which. Rules: openai.md "Settings". */

/** Which reasoning is shown, and under which name it goes back to the server. `auto`: as it came. */
export const REASONING_SETTINGS = ['auto', 'reasoning_content', 'reasoning', 'none'] as const
export type ReasoningSetting = (typeof REASONING_SETTINGS)[number]

export const MAX_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const

export type ChatDialect = Readonly<{
  reasoning: ReasoningSetting
  /** The field that has the cap on the output. */
  maxTokensField: (typeof MAX_TOKENS_FIELDS)[number]
  /** Streams are asked for their usage. */
  streamUsage: boolean
  /** Top-level fields that it refuses. */
  dropFields: readonly string[]
  /** Top-level fields that it takes beside those of the format. */
  passFields: readonly string[]
}>

/** A request as one kind of server takes it. `modelAt`: where the JSON string that names the model begins. */
export type ChatBody = Readonly<{ body: Uint8Array; modelAt: number }>
