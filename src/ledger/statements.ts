/** Every statement of the ledger's writer, prepared once. Integers go in and come out as bigints where a statement is raw SQL. */

import type { Database } from 'bun:sqlite'
import { lookUps } from './look-ups.ts'
import { operatorStatements } from './operator-statements.ts'
import { requestStatements } from './request-statements.ts'

export const prepareStatements = (db: Database) => ({ ...requestStatements(db), ...operatorStatements(db), ...lookUps(db) })

export type Statements = Readonly<ReturnType<typeof prepareStatements>>
