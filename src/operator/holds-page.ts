/** A page of the holds of a running gateway, in the order of their request ids, which is that of their beginning. Rules: operator.md "Socket". */

import type { Hold } from '../ledger/ledger.ts'
import type { HoldsQuery } from './message-json.ts'

const HOLDS_PAGE_MAX = 10_000

export function holdsPage(holds: readonly Hold[], { keyId, accountId, after, limit }: HoldsQuery): readonly Hold[] {
  return holds
    .filter(
      (hold) =>
        (keyId === null || hold.keyId === keyId) &&
        (accountId === null || hold.accountId === accountId) &&
        (after === null || hold.requestId > after),
    )
    .sort((a, b) => (a.requestId < b.requestId ? -1 : 1))
    .slice(0, Math.min(limit, HOLDS_PAGE_MAX))
}
