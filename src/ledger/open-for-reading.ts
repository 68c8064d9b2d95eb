/** A connection that cannot write, wherever the ledger is. Rules: ledger.md "Two stores", "Reads". */

import { type DatabaseProblem, openDatabase } from '../../db/open.ts'
import type { Connection } from './connection.ts'
import type { ReadablePlace } from './place.ts'
import { openForReading as openPostgres } from './postgres/reach.ts'

export const openForReading = (place: ReadablePlace): Connection | DatabaseProblem =>
  place.kind === 'sqlite' ? openDatabase(place.path, 'read') : openPostgres(place)
