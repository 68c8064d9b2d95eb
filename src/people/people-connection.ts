/** One connection to the people's file, which answers at once, on the thread that asks. The file is opened with the first question. Rules: pages.md "People". */

import { type Database, SQLiteError, type Statement } from 'bun:sqlite'
import { boundedMap } from '../core/bounded-map.ts'
import { openPeopleFile } from './people-file.ts'
import { type Given, PeopleAway, type SqlResult } from './people-sql.ts'

const STATEMENTS_MAX = 300
/** SQLite's codes of a file that another connection holds (https://www.sqlite.org/rescode.html#busy). */
const HELD = new Set([5, 6])

type Opened = Readonly<{ db: Database; statementOf: (text: string) => Statement<unknown, [Given]> }>

export class PeopleConnection {
  readonly #path: string
  #opened: Opened | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Throws PeopleAway where another connection holds the file, and other errors of the file as they are. */
  open(): void {
    this.#using()
  }

  /** `isInside`: the question is part of the open transaction, and is refused with PeopleAway where there is none. Throws as `open` does. */
  ask(text: string, given: Given, isInside: boolean): SqlResult {
    const { db, statementOf } = this.#using()
    // SQLite ends a transaction by itself when the disk is full.
    if (isInside && !db.inTransaction) throw new PeopleAway('its transaction is gone')
    return orAway(() => {
      const statement = statementOf(text)
      if (statement.columnNames.length === 0) return { rows: [], changes: statement.run(given).changes }
      const rows = statement.all(given)
      return { rows, changes: rows.length }
    })
  }

  /** After this no transaction is open. */
  rollBack(): void {
    try {
      if (this.#opened?.db.inTransaction) this.#opened.db.run('ROLLBACK')
    } catch {
      this.close()
    }
  }

  close(): void {
    const opened = this.#opened
    this.#opened = undefined
    opened?.db.close()
  }

  #using(): Opened {
    this.#opened ??= orAway(() => {
      const db = openPeopleFile(this.#path)
      return { db, statementOf: preparing(db) }
    })
    return this.#opened
  }
}

function preparing(db: Database): Opened['statementOf'] {
  const statements = boundedMap<Statement<unknown, [Given]>>(STATEMENTS_MAX, (statement) => statement.finalize())
  return (text) => {
    const known = statements.get(text)
    if (known !== undefined) return known
    const statement = db.prepare<unknown, [Given]>(text)
    statements.set(text, statement)
    return statement
  }
}

function orAway<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof SQLiteError && HELD.has(error.errno & 0xff)) throw new PeopleAway(error.message, { cause: error })
    throw error
  }
}
