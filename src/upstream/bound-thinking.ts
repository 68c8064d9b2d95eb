/**
 * Thinking that is bound to the account which wrote it, or to all that stands before it: another upstream may refuse it, and that says nothing of the request.
 * Rules: pool.md "Bound thinking".
 */

import type { PoolRequest } from './pool-request.ts'
import type { Fault } from './upstream.ts'

/** A signature stands in thinking blocks alone; a client that writes one elsewhere gets one more upstream asked. */
const SIGNATURE = '"signature"'

export const hasThinking = ({ body }: Pick<PoolRequest, 'body'>): boolean =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(SIGNATURE)

/** `warm`: which upstream answered the conversation before; undefined where none did. `name`: the one that refuses. */
export const isUnfit = (request: PoolRequest, fault: Fault, name: string, warm: string | undefined): boolean =>
  warm !== undefined && warm !== name && fault.refusal.name === 'upstreamInvalidRequest' && hasThinking(request)
