/** The money of a key that is not in the gateway's memory: of such a key nothing is held or on its way, so the file has it all. Rules: ledger.md "Wallets", "Reads". */

import type { KeyRecord } from '../core/key.ts'
import { ZERO } from '../core/money.ts'
import { Refusal } from '../core/refusal.ts'
import type { SyncedPurse } from '../ledger/ledger.ts'
import type { KeyAtRest } from '../ledger/reports.ts'
import type { World } from '../world.ts'
import { unread } from './usage.ts'

export async function storedPurse(world: World, key: KeyRecord): Promise<SyncedPurse | Refusal> {
  const stored = await world.reports.ask(key.id, { kind: 'key', keyId: key.id })
  if (typeof stored === 'string') return unread(stored)
  return stored === undefined ? new Refusal('keyInvalid') : purseAtRest(stored)
}

export const purseAtRest = ({ limitPicos, spentPicos, balancePicos, lastSyncedAt, toppedUpAt }: KeyAtRest): SyncedPurse => ({
  limitPicos,
  spentPicos,
  heldPicos: ZERO,
  account: { balancePicos, heldPicos: ZERO },
  lastSyncedAt: Math.max(lastSyncedAt, toppedUpAt ?? 0),
})
