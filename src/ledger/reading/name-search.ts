/** Finds names of accounts and keys by their beginning, in upper or lower case, in the order of the indexes on them. Rules: operator.md "Lists". */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'

/** Added to a beginning, it sorts after every text that begins so. */
export const END = '\u{10ffff}'

/** The column's value begins with this text. */
export const startsWith = (column: SQLWrapper, text: string): SQL => sql`(${column} >= ${text} and ${column} < ${text + END})`

/** The same in upper or lower case, by the index on the lower-case names. SQLite's `lower` changes only A to Z: https://sqlite.org/lang_corefunc.html#lower. */
export const beginsWith = (name: SQLWrapper, text: string): SQL =>
  sql`(lower(${name}) >= lower(${text}) and lower(${name}) < lower(${text + END}))`

/** The last four characters of a secret, as its display form shows them. */
export const LAST4 = /^(?:sk-…?|…)?([0-9A-Za-z]{4})$/
