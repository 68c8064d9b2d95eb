/**
 * Passes a list as one parameter, so that a statement's text does not depend on the length of the list: as an array in JSON, which both stores unpack by a function of the
 * same name, or as an array of Postgres, for statements that only Postgres gets. Rules: ledger.md "Two stores".
 */

import type { Value } from './connection.ts'

/** A select of whole numbers, in the column `value`. */
export const numbersIn = (placeholder: string): string =>
  `SELECT CAST(value AS BIGINT) AS value FROM json_each(CAST(${placeholder} AS TEXT))`

/** A select of texts, in the column `value`. */
export const textsIn = (placeholder: string): string => `SELECT value FROM json_each(CAST(${placeholder} AS TEXT))`

/** The list as the parameter of `among`; null where nothing is filtered. */
export const listText = (values: readonly string[] | undefined): string | null => (values === undefined ? null : JSON.stringify(values))

/** The condition that a column has one of the texts of a parameter, which is a `listText`; any where that is null. */
export const among = (column: string, parameter: string): string =>
  `(CAST(${parameter} AS TEXT) IS NULL OR ${column} IN (${textsIn(parameter)}))`

/** The list as the text of an array, for `anyOf`. */
export const arrayText = (values: readonly Value[]): string => `{${values.map(elementText).join(',')}}`

/**
 * Compares with any of the values in `parameter`, which is an `arrayText`. The subquery makes the array once. Without it, a long array would make Postgres read the whole
 * table and make the array again for each row: 4,000 numbers took seconds.
 */
export const anyOf = (parameter: string, type: 'BIGINT' | 'TEXT'): string =>
  `ANY (CAST((SELECT CAST(CAST(${parameter} AS TEXT) AS ${type}[])) AS ${type}[]))`

/** An element in the text of an array: https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
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
