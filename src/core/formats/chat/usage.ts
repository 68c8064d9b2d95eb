/** Chat's usage object. Rules: contract.md "Usage"; chat.md "Usage"; translation.md "Shown usage". */

import type { Observation } from '../../native/observation.ts'
import { type Costed, costIfAsked } from '../../native/shown-cost.ts'
import { shownUsage } from '../translate/usage.ts'
import type { ChatUsage } from './wire.ts'

export function chatUsage(seen: Observation, call: Costed): ChatUsage {
  const usage = shownUsage(seen, call.bounds)
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.total,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      ...(usage.cacheWrite1h > 0 ? { cache_write_1h_tokens: usage.cacheWrite1h } : {}),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: usage.cacheWrite,
    ...costIfAsked(seen, call),
  }
}
