/** A ledger on Postgres: this version reads it, and cannot write it yet. Rules: ledger.md "Two stores". */

import type { DatabaseProblem } from '../../../db/open.ts'
import { openPostgres } from '../../../db/postgres/open.ts'
import type { Connection } from '../connection.ts'
import type { LedgerOptions, OpenedLedger } from '../open-options.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { OpenedStore } from '../store.ts'
import type { OpenProblem, ToThread } from '../task.ts'
import { PostgresConnection } from './connection.ts'
import { isStorageFailure } from './storage-failure.ts'

type Reachable = PostgresPlace & Readonly<{ startWire: () => Worker }>

/** Of one statement of a report or a page. */
const READ_MS = 30_000

const notYet = (place: PostgresPlace): DatabaseProblem => ({
  problem: 'missing',
  message: `${placeText(place)}: this version cannot write a ledger on Postgres yet`,
})

export const openLedger = ({ place }: LedgerOptions & Readonly<{ place: Reachable }>): Promise<OpenedLedger | OpenProblem> =>
  Promise.resolve(notYet(place))

/** The thread's side. */
export const openStore = (_message: Extract<ToThread, { kind: 'open' }>, place: Reachable): OpenedStore | OpenProblem => notYet(place)

/** A connection that cannot write. Its ledger is looked at before anything is asked of it. */
export function openForReading(place: Reachable): Connection | DatabaseProblem {
  const { url, startWire } = place
  const db = new PostgresConnection({ url, access: 'read', startWire, timeoutMs: READ_MS, name: `tollgate ${place.node} reads` })
  const problem = problemOf(place, () => openPostgres(db, placeText(place), 'read'))
  if (problem === undefined) return db
  db.close()
  return problem
}

/** What Postgres says where it cannot be asked. */
function problemOf(place: PostgresPlace, open: () => DatabaseProblem | undefined): DatabaseProblem | undefined {
  try {
    return open()
  } catch (error) {
    if (!isStorageFailure(error)) throw error
    return { problem: 'unwritable', message: `${placeText(place)} cannot be opened (${error.message})` }
  }
}
