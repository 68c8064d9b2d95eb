/** A ledger on Postgres: this version knows of it and cannot open it yet. Rules: ledger.md "Two stores". */

import type { DatabaseProblem } from '../../../db/open.ts'
import type { Connection } from '../connection.ts'
import type { LedgerOptions, OpenedLedger } from '../open-options.ts'
import { type PostgresPlace, placeText } from '../place.ts'
import type { OpenedStore } from '../store.ts'
import type { OpenProblem, ToThread } from '../task.ts'

const notYet = (place: PostgresPlace): DatabaseProblem => ({
  problem: 'missing',
  message: `${placeText(place)}: this version cannot open a ledger on Postgres yet`,
})

export const openLedger = ({ place }: LedgerOptions & Readonly<{ place: PostgresPlace }>): Promise<OpenedLedger | OpenProblem> =>
  Promise.resolve(notYet(place))

/** The thread's side. */
export const openStore = (_message: Extract<ToThread, { kind: 'open' }>, place: PostgresPlace): OpenedStore | OpenProblem => notYet(place)

/** A connection that cannot write. */
export const openForReading = (place: PostgresPlace): Connection | DatabaseProblem => notYet(place)
