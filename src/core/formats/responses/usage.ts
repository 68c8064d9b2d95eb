/** Token usage in the responses format. Rules: translation.md "Shown usage". */

import type { Observation } from '../../native/observation.ts'
import { type Costed, costIfAsked } from '../../native/shown-cost.ts'
import { shownUsage } from '../translate/usage.ts'
import type { ResponsesUsage } from './wire.ts'

/** `input_tokens` counts cache tokens too; the details say which they are, so that the cost can be recomputed. */
export function responsesUsage(seen: Observation, call: Costed): ResponsesUsage {
  const { prompt, completion, total, cacheRead, cacheWrite, cacheWrite1h, reasoning } = shownUsage(seen, call.bounds)
  return {
    input_tokens: prompt,
    input_tokens_details: {
      cached_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      ...(cacheWrite1h === 0 ? {} : { cache_write_1h_tokens: cacheWrite1h }),
    },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
    ...costIfAsked(seen, call),
  }
}
