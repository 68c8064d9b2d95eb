/** A connection that really closes. SQLite keeps a connection open, with its locks and its log, while any statement lives, and drizzle never ends the ones that it prepares. */

import { Database, type Statement } from 'bun:sqlite'

export function connect(path: string, flags: Readonly<{ readonly?: true; readwrite?: true; create?: true }>): Database {
  const db = new Database(path, { ...flags, safeIntegers: true, strict: true })
  const prepared: Pick<Statement, 'finalize'>[] = []
  const { prepare, close } = db
  db.prepare = ((...given: Parameters<typeof prepare>) => {
    const statement = prepare.apply(db, given)
    prepared.push(statement)
    return statement
  }) as typeof prepare
  db.close = (throwOnError) => {
    for (const statement of prepared.splice(0)) statement.finalize()
    close.call(db, throwOnError)
  }
  return db
}
