/**
 * Every statement of the ledger's writer, prepared once. Drizzle is used for whole rows, so that their types follow the schema. Raw SQL is used for
 * statements that compute in the database (`balance = balance - ?`), and for those that run with every request: their values are bound by position, since binding by name
 * costs a look-up for each value. Integers come back as bigints from raw SQL.
 */

import type { ChainPlace } from './chain-place.ts'
import type { Connection } from './connection.ts'
import { lookUps } from './look-ups.ts'
import { operatorStatements } from './operator-statements.ts'
import { requestStatements } from './request-statements.ts'
import { windowSums } from './window-sums.ts'

/** `chain`: the port to the chains of the store to which `db` connects. */
export const prepareStatements = (db: Connection, chain: ChainPlace) => ({
  ...requestStatements(db),
  ...operatorStatements(db),
  ...lookUps(db),
  windowSums: windowSums(db),
  chain,
})

export type Statements = Readonly<ReturnType<typeof prepareStatements>>
