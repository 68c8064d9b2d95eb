/**
 * A page of holds, in the order of their request ids, which is the order in which the requests began: holds of one gateway, or merged from pages of several gateways
 * with the same cursor. Rules: operator.md "Socket".
 */

import type { Hold } from '../ledger/ledger.ts'
import type { HoldsQuery } from './message-json.ts'

const HOLDS_PAGE_MAX = 10_000

/** Where two holds have the same id, the later one is shown. */
export function holdsPage(holds: readonly Hold[], { keyId, accountId, after, limit }: HoldsQuery): readonly Hold[] {
  const asked = holds.filter(
    (hold) =>
      (keyId === null || hold.keyId === keyId) &&
      (accountId === null || hold.accountId === accountId) &&
      (after === null || hold.requestId > after),
  )
  return [...new Map(asked.map((hold) => [hold.requestId, hold])).values()]
    .sort((a, b) => (a.requestId < b.requestId ? -1 : 1))
    .slice(0, Math.min(limit, HOLDS_PAGE_MAX))
}
