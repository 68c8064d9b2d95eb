/** The thread's side of a ledger on Postgres that is opened for writing. Rules: ledger.md "Two stores"; nodes.md "Fencing". */

import { openPostgres } from '../../../db/postgres/open.ts'
import type { NodeIdentity } from '../nodes.ts'
import { placeText, type SpillsAt } from '../place.ts'
import type { OpenProblem } from '../thread-messages.ts'
import type { OpenedStore } from '../writing/store.ts'
import { type Connectable, connectTo, whileAsking } from './connect.ts'
import { PostgresStore } from './store.ts'

/** How long a statement waits for a lock. The wait is short, because all accounts wait meanwhile, and nodes lock rows for milliseconds only. */
const LOCK_MS = 1_000

export function openStore(
  place: Connectable & Readonly<{ identity: NodeIdentity | undefined; spills: SpillsAt }>,
): OpenedStore | OpenProblem {
  const { identity, spills } = place
  if (identity === undefined) return { problem: 'locked', message: `${placeText(place)}: this process is no node of it` }
  const db = connectTo(place, 'write', 'writes', { lockMs: LOCK_MS })
  const opened = whileAsking(place, () => openPostgres(db, placeText(place), 'write', { isNode: true }) ?? new PostgresStore(db, identity))
  if ('problem' in opened) {
    db.close()
    return opened
  }
  return {
    store: opened,
    spills,
    wasLeftOpen: false,
    begin: () => undefined,
    onSound: () => undefined,
    onWalCheckpointed: () => undefined,
    onNode: (again) => opened.rejoin(again),
    end: () => undefined,
    afterClose: () => undefined,
  }
}
