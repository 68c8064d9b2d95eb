/** Opening the ledger for writing, wherever it is. Rules: ledger.md "Two stores". */

import type { LedgerOptions, OpenedLedger } from './open-options.ts'
import type { Place } from './place.ts'
import { openLedger as openFile } from './sqlite/open.ts'
import type { OpenProblem } from './task.ts'

/** `startThread` makes a Worker of `src/ledger/thread.ts`, `startSyncDriver` of `src/ledger/postgres/sync-driver.ts`. */
export async function openLedgerAt(
  place: Place,
  { startSyncDriver, ...options }: LedgerOptions & Readonly<{ startSyncDriver: () => Worker }>,
): Promise<OpenedLedger | OpenProblem> {
  if (place.kind === 'sqlite') return await openFile({ ...options, path: place.path })
  const { openLedger: openPostgres } = await import('./postgres/open.ts')
  return await openPostgres({ ...options, place: { ...place, startSyncDriver } })
}
