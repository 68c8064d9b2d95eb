/**
 * The statements that write a group's checkpoints and attempts, and the parameters of these and of `SETTLE`. Each parameter is one column, as the text of an array, which
 * crosses threads as one string. Rules: ledger.md "Settles on Postgres".
 */

import type { Value } from '../sql/connection.ts'
import { elementText } from '../sql/sql-list.ts'
import { ATTEMPT_COLUMNS, CHECKPOINT_CHANGES, CHECKPOINT_COLUMNS } from '../writing/row-values.ts'

type ElementType = 'BIGINT' | 'TEXT'

const TEXTS = new Set(['request_id', 'upstream_message_id', 'upstream_request_id', 'format', 'basis', 'cause', 'tag'])
const typeOf = (column: string): ElementType => (TEXTS.has(column) ? 'TEXT' : 'BIGINT')

const arraysOf = (columns: readonly string[]): string =>
  columns.map((column, index) => `CAST(CAST(?${index + 1} AS TEXT) AS ${typeOf(column)}[])`).join(', ')

export const PUT_CHECKPOINTS = `INSERT INTO marks (${CHECKPOINT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(CHECKPOINT_COLUMNS)})
  ON CONFLICT (request_id) DO UPDATE SET ${CHECKPOINT_CHANGES.map((name) => `${name} = excluded.${name}`).join(', ')}`

/** The last parameter is the node's lane: its part of a day's sums is a row of its own, so that no node waits for another one's. */
export const INSERT_ATTEMPTS = `WITH added AS (
    INSERT INTO attempts (${ATTEMPT_COLUMNS.join(', ')}) SELECT * FROM unnest(${arraysOf(ATTEMPT_COLUMNS)})
    ON CONFLICT (request_id, attempt) DO NOTHING RETURNING account_number, upstream_number, upstream_cost_number, upstream_cost_picos, started_at
  )
  INSERT INTO margin_daily (day, account_number, model_number, upstream_number, lane, requests, calls, cost_picos, waived_picos, upstream_cost_picos,
    calls_cost_picos, cache_lost_picos)
  SELECT started_at / 86400000, account_number, model_number, upstream_number, CAST(?${ATTEMPT_COLUMNS.length + 1} AS BIGINT), 0, count(*), 0, 0, 0,
    CAST(sum(upstream_cost_picos) AS BIGINT), 0
  FROM added JOIN price_versions ON number = upstream_cost_number GROUP BY 1, 2, 3, 4
  ON CONFLICT (day, account_number, model_number, upstream_number, lane) DO UPDATE SET calls = margin_daily.calls + excluded.calls,
    calls_cost_picos = margin_daily.calls_cost_picos + excluded.calls_cost_picos`

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
