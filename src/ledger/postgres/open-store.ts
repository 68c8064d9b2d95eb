/** The thread's side of a ledger on Postgres that is opened for writing. Rules: ledger.md "Two stores"; nodes.md "Fencing". */

import { problemOf } from '../../../db/open.ts'
import { openPostgres } from '../../../db/postgres/open.ts'
import { placeText } from '../place.ts'
import type { OpenedStore } from '../store.ts'
import type { OpenProblem } from '../task.ts'
import type { NodeIdentity } from './node.ts'
import { connectTo, type Reachable, whileAsking } from './reach.ts'
import { type SpillPlaces, takeSpillPlaces } from './spill-places.ts'
import { PostgresStore } from './store.ts'

export function openStore(place: Reachable & Readonly<{ identity: NodeIdentity | undefined }>): OpenedStore | OpenProblem {
  const { identity } = place
  if (identity === undefined) return { problem: 'locked', message: `${placeText(place)}: this process is no node of it` }
  const spills = spillsAt(place.path)
  if ('problem' in spills) return spills
  const db = connectTo(place, 'write', 'writes')
  const opened = whileAsking(place, () => openPostgres(db, placeText(place), 'write') ?? new PostgresStore(db, identity))
  if ('problem' in opened) {
    db.close()
    spills.release()
    return opened
  }
  return {
    store: opened,
    spills,
    wasLeftOpen: false,
    begin: () => undefined,
    onSound: () => undefined,
    onNode: (again) => opened.rejoin(again),
    end: () => undefined,
    afterClose: spills.release,
  }
}

function spillsAt(path: string): SpillPlaces | OpenProblem {
  try {
    return takeSpillPlaces(path)
  } catch (error) {
    return problemOf(error, path)
  }
}
