/**
 * Thinking that is bound to the account that wrote it, or to everything before it in the conversation: another upstream may refuse it, which says nothing of the
 * request. Rules: pool.md "Bound thinking".
 */

import { holdsThinking, mayThink } from '../core/native/thinking-signs.ts'
import type { PoolRequest } from './pool-request.ts'
import type { Fault } from './upstream.ts'

type Asked = Pick<PoolRequest, 'body' | 'notes'>

/** A heavy body was looked through where it was read. */
export const hasThinking = ({ body, notes }: Asked): boolean => notes?.thinking.isHeld ?? holdsThinking(body)

/** Its conversation holds thinking, or may from the next answer on. */
export const mightThink = ({ body, notes }: Asked): boolean => notes?.thinking.mayCome ?? mayThink(body)

/** Whether the upstream `name` may have refused only thinking that another one wrote. `warm`: the upstream that answered the conversation before; undefined where none did. */
export const isUnfit = (request: PoolRequest, fault: Fault, name: string, warm: string | undefined): boolean =>
  warm !== undefined && warm !== name && fault.refusal.name === 'upstreamInvalidRequest' && hasThinking(request)
