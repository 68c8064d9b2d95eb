/**
 * Finds people by a few letters: those whose e-mail begins so, by its index, then those who have the letters anywhere in e-mail or name, of the first 10,000 by e-mail.
 * Of letters beyond ASCII a store knows no lower case, or only that of its locale: such a letter stands for any in the question, and what is found is compared here.
 * Rules: pages.md "Tables".
 */

import type { PeopleSql } from './people-sql.ts'
import type { Person } from './sessions.ts'

const LOOKED_AT_MAX = 10_000
/** Sorts after every character of an e-mail, which is ASCII. */
const END = '~~'

const BEGINS = 'SELECT id, email, name FROM person WHERE email >= $text AND email < $end ORDER BY email LIMIT $rows'
const HAS = `SELECT id, email, name FROM (SELECT id, email, name FROM person ORDER BY email LIMIT ${LOOKED_AT_MAX}) p
  WHERE email LIKE $like ESCAPE '!' OR lower(name) LIKE $like ESCAPE '!' ORDER BY email LIMIT $rows`

/** `text`: in lower case. At most so many rows. */
export async function findPeople(sql: PeopleSql, text: string, rows: number): Promise<readonly Person[]> {
  const first = await sql.all<Person>(BEGINS, { text, end: text + END, rows })
  if (first.length === rows) return first
  const others = await peopleWith(sql, text, rows)
  return [...first, ...others.filter(({ id }) => !first.some((one) => one.id === id))].slice(0, rows)
}

async function peopleWith(sql: PeopleSql, text: string, rows: number): Promise<readonly Person[]> {
  const like = `%${text.replaceAll(/[!%_]/g, '!$&')}%`
  const isAscii = !BEYOND_ASCII.test(text)
  const question = isAscii ? { like, rows } : { like: like.replaceAll(BEYOND_ASCII_RUN, '%'), rows: LOOKED_AT_MAX }
  const found = await sql.all<Person>(HAS, question)
  return isAscii ? found : found.filter(({ email, name }) => email.includes(text) || name.toLowerCase().includes(text))
}

const BEYOND_ASCII = /[^\0-\x7f]/
/** A letter may have more characters in one case than in the other. */
const BEYOND_ASCII_RUN = /[^\0-\x7f]+/g
