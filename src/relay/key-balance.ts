/**
 * The balance of a key that is not in the gateway's memory: such a key has no holds and no settles under way, so its rows in the ledger are all there is. Rules:
 * ledger.md "Wallets", "Reads".
 */

import { budgetsOf } from '../core/catalog.ts'
import type { KeyRecord } from '../core/key.ts'
import { ZERO } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import { NO_WINDOWS } from '../core/spending.ts'
import type { Budgets } from '../core/windows.ts'
import type { SyncedKeyBalance } from '../ledger/ledger.ts'
import type { KeyAtRest, Unread } from '../ledger/reading/reports.ts'
import { windowsAtRest } from '../ledger/reading/window-balances.ts'
import type { World } from '../world.ts'

/** Reads the balance from memory, where other processes spend from theirs, or else from the ledger. */
export async function keyBalanceOf(
  world: Pick<World, 'ledger' | 'reports' | 'catalog' | 'clock'>,
  { id: keyId }: Pick<KeyRecord, 'id'>,
): Promise<SyncedKeyBalance | Refusal> {
  const known = await world.ledger.keyBalanceNow(keyId)
  if (known !== undefined) return known
  const stored = await world.reports.ask(keyId, { kind: 'key', keyId, now: world.clock.now() })
  if (typeof stored === 'string') return refusalOfUnread(stored)
  return stored === undefined ? new Refusal('keyInvalid') : keyBalanceAtRest(stored, budgetsOf(world.catalog(), stored.plan))
}

/** `ofPlan`: the budgets of the key's plan. */
export const keyBalanceAtRest = (stored: KeyAtRest, ofPlan: Budgets): SyncedKeyBalance => {
  const { limitPicos, spentPicos, balancePicos, lastSyncedAt, toppedUpAt, sums } = stored
  const windows = sums === undefined ? NO_WINDOWS : windowsAtRest(sums, ofPlan)
  return {
    ...(windows.length === 0 ? {} : { windows }),
    limitPicos,
    spentPicos,
    heldPicos: ZERO,
    account: { balancePicos, heldPicos: ZERO },
    lastSyncedAt: Math.max(lastSyncedAt, toppedUpAt ?? 0),
  }
}

/** The refusal for a look-up that the ledger did not answer. */
export function refusalOfUnread(why: Unread): Refusal {
  switch (why) {
    case 'tooMany':
      return new Refusal('rateLimited')
    case 'overloaded':
      return new Refusal('overloaded')
    case 'unavailable':
      return new Refusal('storageUnavailable')
  }
}
