/** An upstream call under the API's names: its tokens, and the ids by which the upstream knows it. Rules: money.md "Usage that is billed". */

import { promptOf, type Usage } from '../../core/usage.ts'
import type { UpstreamCall } from './parts.ts'

export const tokenFields = (usage: Usage) => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  cache_read_input_tokens: usage.cacheRead,
  cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
  cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h },
  server_tool_uses: usage.serverToolUses,
})

/** The price level of a receipt and the prompt tokens that led to it; null: the price for any prompt. */
export const priceLevelOf = ({ abovePromptTokens, usage }: Readonly<{ abovePromptTokens: number; usage: Usage }>) =>
  abovePromptTokens === 0 ? null : { above_prompt_tokens: abovePromptTokens, prompt_tokens: promptOf(usage) }

/** The cells of the columns INPUT, OUTPUT, CACHE READ, CACHE WRITE. */
export const tokenCells = ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Usage): readonly string[] =>
  [input, output, cacheRead, cacheWrite5m + cacheWrite1h].map(String)

export const upstreamFields = (call: UpstreamCall | null) => ({
  upstream: call?.name ?? null,
  upstream_model: call?.model ?? null,
  upstream_message_id: call?.messageId ?? null,
  upstream_request_id: call?.requestId ?? null,
})
