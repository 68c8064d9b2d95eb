/**
 * What chat clients get: the complete answer, the chunks of a stream, and the part of the request that writing them needs. Rules: chat.md "Answer", "Usage", "Chunks".
 */

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'function_call'

export type ChatUsage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number; cache_write_1h_tokens?: number }
  completion_tokens_details: { reasoning_tokens: number }
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
  cost_usd?: number
  cost_usd_exact?: string
}

export type FunctionCall = { name: string; arguments: string }

export type ToolCall =
  | { id: string; type: 'function'; function: FunctionCall }
  | { id: string; type: 'custom'; custom: { name: string; input: string } }

/** Thinking that a client may send back: signed, or encrypted by the vendor. */
export type ThinkingBlock = { type: 'thinking'; thinking: string; signature: string } | { type: 'redacted_thinking'; data: string }

export type ChatMessage = {
  role: 'assistant'
  content: string
  refusal: null
  reasoning_content?: string
  thinking_blocks?: ThinkingBlock[]
  tool_calls?: ToolCall[]
  function_call?: FunctionCall
}

export type ChatCompletion = {
  id: string
  object: 'chat.completion'
  created: number
  model: string
  choices: [{ index: 0; message: ChatMessage; logprobs: null; finish_reason: FinishReason }]
  usage: ChatUsage
}

/** What one chunk of a stream adds to the message. A call's id, type and name stand in its first chunk only. */
export type ChatDelta = {
  role?: 'assistant'
  content?: string
  reasoning_content?: string
  thinking_blocks?: ThinkingBlock[]
  tool_calls?: [
    {
      index: number
      id?: string
      type?: 'function' | 'custom'
      function?: Partial<FunctionCall>
      custom?: { name?: string; input?: string }
    },
  ]
  function_call?: Partial<FunctionCall>
}

export type ChatChunk = {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  choices: { index: 0; delta: ChatDelta; logprobs: null; finish_reason: FinishReason | null }[]
  usage?: ChatUsage | null
}

/** What a chat call must remember of its request. */
export type ChatEcho = Readonly<{
  /** `stream_options.include_usage`: the usage comes in a chunk of its own instead of the finish chunk. */
  includesUsageChunk: boolean
  /** The request named `functions`: the answer is one `function_call`. */
  isLegacy: boolean
  /** Names of the custom tools, whose calls carry free text. */
  customTools: ReadonlySet<string>
}>

/** The id of an answer and of all its chunks: the upstream's, else the request's. */
export function completionId(nativeId: unknown, requestId: string): string {
  const source = typeof nativeId === 'string' && nativeId !== '' ? nativeId : requestId
  return `chatcmpl-${source.replace(/^(msg|req)_/, '')}`
}
