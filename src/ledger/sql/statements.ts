/**
 * Every statement of the ledger's writer, prepared once. Drizzle's where rows are read or inserted whole, so that their types follow the schema; raw SQL where
 * a statement computes in the database (`balance = balance - ?`), and for all that runs with every request, which is bound by position: by name costs a look-up
 * a value. Integers come back as bigints from raw SQL.
 */

import type { ChainPlace } from './chain-place.ts'
import type { Connection } from './connection.ts'
import { lookUps } from './look-ups.ts'
import { operatorStatements } from './operator-statements.ts'
import { requestStatements } from './request-statements.ts'

/** `chain`: of the store whose connection it is. */
export const prepareStatements = (db: Connection, chain: ChainPlace) => ({
  ...requestStatements(db),
  ...operatorStatements(db),
  ...lookUps(db),
  chain,
})

export type Statements = Readonly<ReturnType<typeof prepareStatements>>
