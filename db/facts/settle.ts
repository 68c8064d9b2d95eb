/** The function of Postgres that writes a group of settles, and its lists after those of the receipts. Rules: ledger.md "Settles on Postgres". */

import { COUNTERS } from './words.ts'
import { type ListColumn, listColumns } from './write-row.ts'

/** A function that changes gets a name with the version beside the old one: the migration says why. */
export const SETTLE_FUNCTION = 'settle_6'

const numbers = (...columns: readonly string[]): readonly ListColumn[] => columns.map((column) => ({ column, type: 'BIGINT' }))
const texts = (column: string): readonly ListColumn[] => [{ column, type: 'TEXT' }]
const blobs = (...columns: readonly string[]): readonly ListColumn[] => columns.map((column) => ({ column, type: 'BYTEA' }))

export const BESIDE_RECEIPTS: readonly ListColumn[] = [
  ...texts('marked_id'),
  ...[...numbers('claim_key'), ...blobs('header_hash', 'body_hash'), ...texts('claim_request_id'), ...numbers('expires_at', 'claimed_at')],
  ...[...numbers('account', 'account_cost', 'head_from', 'head_count'), ...blobs('head_hash')],
  ...numbers('key', 'key_cost', 'used_at'),
  ...[
    ...numbers('day_key', 'day_day', 'day_price', 'day_requests'),
    ...listColumns(COUNTERS),
    ...numbers('day_cost', 'day_waived', 'day_estimated'),
  ],
]
