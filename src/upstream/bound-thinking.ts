/**
 * Thinking that is bound to the account that wrote it, or to everything before it in the conversation: another upstream may refuse it, which says nothing of the
 * request. Rules: pool.md "Bound thinking".
 */

import type { PoolRequest } from './pool-request.ts'
import type { Fault } from './upstream.ts'

/** Only thinking blocks have a signature. A client that writes one elsewhere only makes the pool ask one more upstream. */
const SIGNATURE = '"signature"'

export const hasThinking = ({ body }: Pick<PoolRequest, 'body'>): boolean =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes(SIGNATURE)

/** Whether the upstream `name` may have refused only thinking that another one wrote. `warm`: the upstream that answered the conversation before; undefined where none did. */
export const isUnfit = (request: PoolRequest, fault: Fault, name: string, warm: string | undefined): boolean =>
  warm !== undefined && warm !== name && fault.refusal.name === 'upstreamInvalidRequest' && hasThinking(request)
