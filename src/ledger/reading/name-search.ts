/**
 * Finds names of accounts and keys by their beginning, whatever the case of its letters, in the order of the indexes on them. The indexes are on `lower`, which changes only
 * A to Z on both stores (https://sqlite.org/lang_corefunc.html#lower, and Postgres' collation "C"): of other letters the ways that the beginning is spelled in the index are
 * looked up, from one to the next. Rules: operator.md "Lists".
 */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { spellingAfter, spellingFrom, spellingsOf } from '../../core/letter-case.ts'
import type { Connection } from '../sql/connection.ts'

/** Added to a beginning, it sorts after every text that begins so. */
export const END = '\u{10ffff}'
/** The most look-ups of the index for one beginning: more are needed only where names spell it in hundreds of ways. */
export const LOOK_UPS_MAX = 400

/** The column's value begins with this text. */
export const startsWith = (column: SQLWrapper, text: string): SQL => sql`(${column} >= ${text} and ${column} < ${text + END})`

/** The last four characters of a secret, as its display form shows them. */
export const LAST4 = /^(?:sk-…?|…)?([0-9A-Za-z]{4})$/

/**
 * The ways in which names begin with this text, by `lower`, in the order of the index; each is found when it is asked for, and no two begin a same name. `from`: the name before
 * which none is wanted.
 */
export function* spellingsIn(db: Connection, table: 'accounts' | 'keys', text: string, from = ''): Generator<string, void> {
  const next = db.query<{ name: string }, [string]>(
    `SELECT lower(name) AS name FROM ${table} WHERE lower(name) >= ? ORDER BY lower(name) LIMIT 1`,
  )
  const spellings = spellingsOf(text)
  let wanted = spellingFrom(spellings, lowerAscii(from))
  for (let lookUps = 0; wanted !== undefined && lookUps < LOOK_UPS_MAX; lookUps++) {
    const name = next.get(wanted)?.name
    if (name === undefined) return
    const spelling = spellingFrom(spellings, name)
    const isThere = spelling !== undefined && name.startsWith(spelling)
    if (isThere) yield spelling
    wanted = isThere ? spellingAfter(spellings, spelling) : spelling
  }
}

/** The name begins in one of these ways. */
export const beginsWith = (name: SQLWrapper, spellings: readonly string[]): SQL =>
  spellings.length === 0
    ? sql`1 = 0`
    : sql`(${sql.join(
        spellings.map((spelling) => startsWith(sql`lower(${name})`, spelling)),
        sql` or `,
      )})`

/** As the indexes have a name. Postgres' `lower` of a parameter has the letters of its locale. */
export const lowerAscii = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
