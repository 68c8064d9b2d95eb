/**
 * The statements that write a group's checkpoints and attempts, and the parameters of these and of `SETTLE`. Each parameter is one column, as the text of an array, which
 * crosses threads as one string. Rules: ledger.md "Settles on Postgres".
 */

import type { Value } from '../sql/connection.ts'
import { elementText } from '../sql/sql-list.ts'
import { ATTEMPT_COLUMNS, CHECKPOINT_CHANGES, CHECKPOINT_COLUMNS } from '../writing/row-values.ts'

type ElementType = 'BIGINT' | 'TEXT'

const TEXTS = new Set(['request_id', 'upstream_message_id', 'upstream_request_id', 'format', 'basis', 'cause'])
const typeOf = (column: string): ElementType => (TEXTS.has(column) ? 'TEXT' : 'BIGINT')

const arraysOf = (columns: readonly string[]): string =>
  columns.map((column, index) => `CAST(CAST(?${index + 1} AS TEXT) AS ${typeOf(column)}[])`).join(', ')

export const PUT_CHECKPOINTS = `INSERT INTO marks (${CHECKPOINT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(CHECKPOINT_COLUMNS)})
  ON CONFLICT (request_id) DO UPDATE SET ${CHECKPOINT_CHANGES.map((name) => `${name} = excluded.${name}`).join(', ')}`

export const INSERT_ATTEMPTS = `INSERT INTO attempts (${ATTEMPT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(ATTEMPT_COLUMNS)})
  ON CONFLICT (request_id, attempt) DO NOTHING`

/** Turns rows of `width` values into `width` arrays, as texts. */
export function columnTexts(rows: readonly (readonly Value[])[], width: number): readonly string[] {
  const texts: string[] = []
  for (let column = 0; column < width; column++) {
    let text = '{'
    for (let row = 0; row < rows.length; row++) text += `${row === 0 ? '' : ','}${elementText(rows[row]?.[column] ?? null)}`
    texts.push(`${text}}`)
  }
  return texts
}
