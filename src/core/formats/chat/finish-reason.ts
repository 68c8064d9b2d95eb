/** Native stop reasons to chat's. Rules: translation.md "Ends". A reason that chat does not know is never passed on: typed clients fail on it. */

import type { FinishReason } from './wire.ts'

export function finishReason(stopReason: string | undefined, hasToolCall: boolean, isLegacy: boolean): FinishReason {
  const forTools = isLegacy ? 'function_call' : 'tool_calls'
  switch (stopReason) {
    case 'end_turn':
    case 'stop_sequence':
    case 'pause_turn':
    case 'compaction':
      return 'stop'
    case 'tool_use':
      return forTools
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'refusal':
      return 'content_filter'
    default:
      return hasToolCall ? forTools : 'stop'
  }
}
