/**
 * The one statement by which a group of settles is written (db/postgres/migrations/0002_settle.sql), and its parameters: a column each, as the text of an array, which
 * crosses threads as one string. Rules: ledger.md "Settles on Postgres".
 */

import type { Value } from '../sql/connection.ts'
import { elementText } from '../sql/sql-list.ts'
import { ATTEMPT_COLUMNS, CHECKPOINT_CHANGES, CHECKPOINT_COLUMNS, COUNTERS, RECEIPT_COLUMNS } from '../writing/row-values.ts'

type ElementType = 'BIGINT' | 'TEXT' | 'BYTEA'

const TEXTS = new Set([
  ...['request_id', 'upstream_message_id', 'upstream_request_id', 'format', 'outcome', 'basis', 'cause'],
  ...['claim_request_id', 'marked_id'],
])
const BLOBS = new Set(['session_hash', 'hash', 'head_hash', 'header_hash', 'body_hash'])
const typeOf = (column: string): ElementType => (TEXTS.has(column) ? 'TEXT' : BLOBS.has(column) ? 'BYTEA' : 'BIGINT')

/** After lane, boot and epoch of the node. Each list is a table: its columns are of one length. */
const SETTLE_COLUMNS = [
  ...RECEIPT_COLUMNS,
  ...['marked_id'],
  ...['claim_key', 'header_hash', 'body_hash', 'claim_request_id', 'expires_at', 'claimed_at'],
  ...['account', 'account_cost', 'head_from', 'head_count', 'head_hash'],
  ...['key', 'key_cost', 'used_at'],
  ...['day_key', 'day_day', 'day_price', 'day_requests', ...COUNTERS, 'day_cost', 'day_waived', 'day_estimated'],
]

const arraysOf = (columns: readonly string[], before: number): string =>
  columns.map((column, index) => `CAST(CAST(?${index + before + 1} AS TEXT) AS ${typeOf(column)}[])`).join(', ')

export const SETTLE = `SELECT settle(?1, ?2, ?3, ${arraysOf(SETTLE_COLUMNS, 3)}) AS known`

export const PUT_CHECKPOINTS = `INSERT INTO marks (${CHECKPOINT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(CHECKPOINT_COLUMNS, 0)})
  ON CONFLICT (request_id) DO UPDATE SET ${CHECKPOINT_CHANGES.map((name) => `${name} = excluded.${name}`).join(', ')}`

export const INSERT_ATTEMPTS = `INSERT INTO attempts (${ATTEMPT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(ATTEMPT_COLUMNS, 0)})
  ON CONFLICT (request_id, attempt) DO NOTHING`

/** Rows of `width` values each, as the texts of as many arrays. */
export function columnTexts(rows: readonly (readonly Value[])[], width: number): readonly string[] {
  const texts: string[] = []
  for (let column = 0; column < width; column++) {
    let text = '{'
    for (let row = 0; row < rows.length; row++) text += `${row === 0 ? '' : ','}${elementText(rows[row]?.[column] ?? null)}`
    texts.push(`${text}}`)
  }
  return texts
}
