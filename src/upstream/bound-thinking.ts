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

/** Its conversation holds thinking, or may from the next answer on: what is asked for counts, unless that is none. The body is read as far as the first sign. */
export function mayThink(request: Pick<PoolRequest, 'body'>): boolean {
  const body = Buffer.from(request.body.buffer, request.body.byteOffset, request.body.byteLength)
  const at = body.indexOf(THINKING)
  if (at === -1) return body.includes(REDACTED)
  const isOff = OFF.test(body.toString('latin1', at, at + OFF_LENGTH_MAX))
  return !isOff || body.includes(THINKING, at + 1) || body.includes(REDACTED)
}

/** A block's type, or what a request asks for; inside a text the quotes are escaped. */
const THINKING = '"thinking"'
const REDACTED = '"redacted_thinking"'
const OFF = /^"thinking"\s*:\s*\{\s*"type"\s*:\s*"disabled"/
const OFF_LENGTH_MAX = 256

/** Whether the upstream `name` may have refused only thinking that another one wrote. `warm`: the upstream that answered the conversation before; undefined where none did. */
export const isUnfit = (request: PoolRequest, fault: Fault, name: string, warm: string | undefined): boolean =>
  warm !== undefined && warm !== name && fault.refusal.name === 'upstreamInvalidRequest' && hasThinking(request)
