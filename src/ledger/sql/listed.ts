/**
 * A list as one parameter, so that a statement's text is the same however long it is: an array in JSON, which both stores unpack by a function of one name.
 * Rules: ledger.md "Two stores".
 */

/** A select of whole numbers, in the column `value`. */
export const numbersIn = (placeholder: string): string =>
  `SELECT CAST(value AS BIGINT) AS value FROM json_each(CAST(${placeholder} AS TEXT))`

/** The same of texts. */
export const textsIn = (placeholder: string): string => `SELECT value FROM json_each(CAST(${placeholder} AS TEXT))`
