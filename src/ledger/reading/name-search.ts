/** Names of accounts and keys by how they begin, in any case, as the indices on them are ordered. Rules: operator.md "Lists". */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/** Behind every text that begins so. */
const END = '\u{10ffff}'

/** The column's value begins with this text. */
export const startsWith = (column: SQLWrapper, text: string): SQL => sql`(${column} >= ${text} and ${column} < ${text + END})`

/** The same in either case, by the index on the lower-case names. SQLite's `lower` knows A to Z alone: https://sqlite.org/lang_corefunc.html#lower. */
export const beginsWith = (name: SQLWrapper, text: string): SQL =>
  sql`(lower(${name}) >= lower(${text}) and lower(${name}) < lower(${text + END}))`
