/**
 * Every statement of the ledger's writer, prepared once. Drizzle's where rows are read or inserted whole, so that their types follow the schema; raw SQL where
 * a statement computes in the database (`balance = balance - ?`), and for all that runs with every request, which is bound by position: by name costs a look-up
 * a value. Integers come back as bigints from raw SQL.
 */

import type { Connection } from './connection.ts'
import { lookUps } from './look-ups.ts'
import { operatorStatements } from './operator-statements.ts'
import { requestStatements } from './request-statements.ts'

export const prepareStatements = (db: Connection) => ({ ...requestStatements(db), ...operatorStatements(db), ...lookUps(db) })

export type Statements = Readonly<ReturnType<typeof prepareStatements>>
