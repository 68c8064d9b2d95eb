/** Opens the ledger for writing, in either store. Rules: ledger.md "Two stores". */

import type { LedgerOptions, OpenedLedger } from './open-options.ts'
import type { Place } from './place.ts'
import { openRelay, type RelayPlace } from './relays/open.ts'
import { openLedger as openFile } from './sqlite/open.ts'
import type { OpenProblem } from './thread-messages.ts'

/**
 * `relay`: for a file that another process of this machine has open. `startThread` makes a Worker of `src/ledger/thread.ts`, `startSyncDriver` one of
 * `src/ledger/postgres/sync-driver.ts`.
 */
export async function openLedgerAt(
  place: Place,
  { startSyncDriver, relay, ...options }: LedgerOptions & Readonly<{ startSyncDriver: () => Worker; relay?: RelayPlace | undefined }>,
): Promise<OpenedLedger | OpenProblem> {
  if (relay !== undefined) return await openRelay({ ...options, relay })
  if (place.kind === 'sqlite') return await openFile({ ...options, path: place.path })
  const { openLedger: openPostgres } = await import('./postgres/open.ts')
  return await openPostgres({ ...options, place: { ...place, startSyncDriver } })
}
