/**
 * The people's store in its file. SQLite answers at once, on the thread that asks. A transaction has the connection for itself until its end, and all other questions
 * wait for that. Rules: pages.md "People".
 */

import type { Database, Statement } from 'bun:sqlite'
import { boundedMap } from '../core/bounded-map.ts'
import { openPeopleFile } from './people-file.ts'
import { type Given, type PeopleSql, type PeopleStore, type SqlResult, sqlOver } from './people-sql.ts'

const STATEMENTS_MAX = 300

/** Throws where the file cannot be opened. */
export function sqlitePeople(path: string): PeopleStore {
  const db = openPeopleFile(path)
  const ask = asker(db)
  /** Resolves at the end of the open transaction; undefined: none is open. */
  let ending: Promise<void> | undefined
  const inside: PeopleSql = sqlOver('sqlite', ask, (_subjects, work) => work(inside))

  const alone: PeopleSql['ask'] = async (text, given) => {
    while (ending !== undefined) await ending
    return ask(text, given)
  }
  const transaction: PeopleSql['transaction'] = async (_subjects, work) => {
    while (ending !== undefined) await ending
    const { promise, resolve } = Promise.withResolvers<void>()
    ending = promise
    try {
      return await committed(db, () => work(inside))
    } finally {
      ending = undefined
      resolve()
    }
  }
  return {
    ...sqlOver('sqlite', alone, transaction),
    close() {
      db.close()
      return Promise.resolve()
    },
  }
}

async function committed<Result>(db: Database, work: () => Promise<Result>): Promise<Result> {
  db.run('BEGIN IMMEDIATE')
  try {
    const result = await work()
    db.run('COMMIT')
    return result
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

function asker(db: Database): PeopleSql['ask'] {
  const statements = boundedMap<Statement<unknown, [Given]>>(STATEMENTS_MAX, (statement) => statement.finalize())
  const statementOf = (text: string): Statement<unknown, [Given]> => {
    const known = statements.get(text)
    if (known !== undefined) return known
    const statement = db.prepare<unknown, [Given]>(text)
    statements.set(text, statement)
    return statement
  }
  return (text, given = {}) =>
    Promise.try((): SqlResult => {
      const statement = statementOf(text)
      if (statement.columnNames.length === 0) return { rows: [], changes: statement.run(given).changes }
      const rows = statement.all(given)
      return { rows, changes: rows.length }
    })
}
