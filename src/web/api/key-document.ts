/** A key as its account's people see it. Amounts are exact decimal texts, times ISO 8601. Rules: keys.md "Balance of a key", "State of a key". */

import { stateOf } from '../../core/key.ts'
import { toExactUsdText } from '../../core/money.ts'
import { ratesAsSet } from '../../core/token-buckets.ts'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { ListedKey } from '../../ledger/reading/account-reports.ts'

/** The amounts spent and held come from the wallets in memory where they have the key, as these decide. `running`: the key's requests in flight. */
export function keyDocument(key: ListedKey, ledger: Ledger, running: number, now: number) {
  const keyBalance = ledger.keyBalanceOf(key.id)
  const spent = keyBalance?.spentPicos ?? key.spentPicos
  return {
    id: key.id,
    name: key.name,
    display: key.display,
    plan: key.plan,
    state: stateOf(key, now),
    is_active: key.isActive,
    is_account_active: key.isAccountActive,
    is_limit_used: key.limitPicos !== null && spent >= key.limitPicos,
    limit_usd: key.limitPicos === null ? null : toExactUsdText(key.limitPicos),
    /** Of its own, beside those of its plan. */
    rates: key.rates == null ? null : ratesAsSet(key.rates),
    spent_usd: toExactUsdText(spent),
    running_requests: running,
    created_at: isoTime(key.createdAt),
    expires_at: isoOrNull(key.expiresAt),
    last_used_at: isoOrNull(key.lastUsedAt),
    /** The secret before the last rotation, while it is still valid. */
    old_secret:
      key.previous === null || key.previous.validUntil <= now
        ? null
        : { display: key.previous.display, valid_until: isoTime(key.previous.validUntil) },
  }
}
