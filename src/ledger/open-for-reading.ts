/** Opens a connection that cannot write, to either store. Rules: ledger.md "Two stores", "Reads". */

import { openDatabase } from '../../db/open.ts'
import { type DatabaseProblem, problemOf } from '../../db/problem.ts'
import type { Place, ReadablePlace } from './place.ts'
import { openForReading as openPostgres, readProblem as problemOfPostgres } from './postgres/connect.ts'
import type { Connection } from './sql/connection.ts'

/** `isNode`: the connection is for a running gateway, whose ledger may be newer than its program while nodes are replaced one by one. */
export const openForReading = (place: ReadablePlace, isNode = false): Connection | DatabaseProblem =>
  place.kind === 'sqlite' ? openDatabase(place.path, 'read') : openPostgres(place, isNode)

/** The problem behind an error that a read threw, in words for the operator. A bug is thrown on. */
export const readProblem = (error: unknown, place: Place): DatabaseProblem =>
  place.kind === 'sqlite' ? problemOf(error, place.path) : problemOfPostgres(error, place)
