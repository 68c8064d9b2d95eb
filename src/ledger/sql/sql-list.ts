/**
 * A list as one parameter, so that a statement's text is the same however long it is: an array in JSON, which both stores unpack by a function of one name, and
 * an array of Postgres where that is asked alone. Rules: ledger.md "Two stores".
 */

import type { Value } from './connection.ts'

/** A select of whole numbers, in the column `value`. */
export const numbersIn = (placeholder: string): string =>
  `SELECT CAST(value AS BIGINT) AS value FROM json_each(CAST(${placeholder} AS TEXT))`

/** The same of texts. */
export const textsIn = (placeholder: string): string => `SELECT value FROM json_each(CAST(${placeholder} AS TEXT))`

/** For `anyOf`. */
export const arrayText = (values: readonly Value[]): string => `{${values.map(elementText).join(',')}}`

/**
 * One of the values whose `arrayText` the parameter is. By a question of its own the array is made once, and its length is no reason to read the whole table, where
 * it would be made again for each row: 4,000 numbers took seconds.
 */
export const anyOf = (parameter: string, type: 'BIGINT' | 'TEXT'): string =>
  `ANY (CAST((SELECT CAST(CAST(${parameter} AS TEXT) AS ${type}[])) AS ${type}[]))`

/** https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
export function elementText(value: Value): string {
  switch (typeof value) {
    case 'string':
      return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
    case 'object':
      return value === null ? 'NULL' : `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
    default:
      return `${value}`
  }
}
