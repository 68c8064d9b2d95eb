/** The statements of a group's debits in a file. They run with every request, so their values are bound by position. Rules: ledger.md "Guards". */

import type { Changes, Database } from 'bun:sqlite'
import { INSERT_RECEIPT } from '../columns/receipt.ts'
import type { Value } from '../sql/connection.ts'
import { ATTEMPT_COLUMNS, CHECKPOINT_CHANGES, CHECKPOINT_COLUMNS, COUNTERS } from '../writing/row-values.ts'

export function prepareDebitStatements(db: Database) {
  return {
    /** If the request has a receipt already, `changes` is 0. */
    insertReceipt: db.prepare(INSERT_RECEIPT) as unknown as OfRow,
    insertAttempt: db.prepare(`INSERT INTO attempts ${rowOf(ATTEMPT_COLUMNS)} ON CONFLICT (request_id, attempt) DO NOTHING`),
    putCheckpoint: db.prepare(
      `INSERT INTO marks ${rowOf(CHECKPOINT_COLUMNS)} ON CONFLICT (request_id) DO UPDATE SET ${CHECKPOINT_CHANGES.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    ),
    deleteCheckpoint: db.prepare<undefined, [string]>('DELETE FROM marks WHERE request_id = ?'),
    /** key, header, body, request, expiry, time of the settle; an older row that still counts stays */
    putIdempotency: db.prepare(
      `INSERT INTO idempotency (key_number, header_hash, body_hash, request_id, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (key_number, header_hash) DO UPDATE SET body_hash = excluded.body_hash, request_id = excluded.request_id, expires_at = excluded.expires_at
       WHERE idempotency.expires_at <= ?6`,
    ),
    /** account, cost, count and hash of its chain */
    debitAccount: db.prepare<undefined, [number, bigint, number, Uint8Array | null]>(
      'UPDATE accounts SET spent_picos = spent_picos + ?2, balance_picos = balance_picos - ?2, chain_count = ?3, chain_hash = ?4 WHERE number = ?1',
    ),
    /** key, cost, time */
    debitKey: db.prepare<undefined, [number, bigint, number]>(
      `UPDATE keys SET spent_picos = spent_picos + ?2, last_synced_at = max(last_synced_at, ?3), last_used_at = max(coalesce(last_used_at, 0), ?3)
       WHERE number = ?1`,
    ),
    /** key, hour, cost */
    addKeyHour: db.prepare<undefined, [number, number, bigint]>(
      'INSERT INTO key_hours (key_number, hour, spent_picos) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET spent_picos = spent_picos + ?3',
    ),
    /** key (its account and plan are looked up), hour, cost */
    addAccountHour: db.prepare<undefined, [number, number, bigint]>(
      `INSERT INTO account_hours (account_number, hour, plan, spent_picos) SELECT account_number, ?2, plan, ?3 FROM keys WHERE number = ?1
       ON CONFLICT DO UPDATE SET spent_picos = spent_picos + ?3`,
    ),
    /** key, day, price (its model is written beside it), requests, the six counters, cost, waived, estimated */
    addUsage: db.prepare(
      `INSERT INTO usage_daily (key_number, day, model_number, price_number, requests, ${COUNTERS.join(', ')}, cost_picos, waived_picos, estimated_picos)
       VALUES (?1, ?2, (SELECT model_number FROM price_versions WHERE number = ?3), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
       ON CONFLICT DO UPDATE SET requests = requests + ?4, input_tokens = input_tokens + ?5, output_tokens = output_tokens + ?6,
         cache_read_tokens = cache_read_tokens + ?7, cache_write_5m_tokens = cache_write_5m_tokens + ?8,
         cache_write_1h_tokens = cache_write_1h_tokens + ?9, server_tool_uses = server_tool_uses + ?10,
         cost_picos = cost_picos + ?11, waived_picos = waived_picos + ?12, estimated_picos = estimated_picos + ?13`,
    ),
    /** day, account, version of the cost, upstream, requests, calls, cost, waived, upstream cost, that of the calls, lost of the cache */
    addMargin: db.prepare(
      `INSERT INTO margin_daily (day, account_number, model_number, upstream_number, lane, requests, calls, cost_picos, waived_picos, upstream_cost_picos,
         calls_cost_picos, cache_lost_picos)
       VALUES (?1, ?2, (SELECT model_number FROM price_versions WHERE number = ?3), ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
       ON CONFLICT DO UPDATE SET requests = requests + ?5, calls = calls + ?6, cost_picos = cost_picos + ?7, waived_picos = waived_picos + ?8,
         upstream_cost_picos = upstream_cost_picos + ?9, calls_cost_picos = calls_cost_picos + ?10, cache_lost_picos = cache_lost_picos + ?11`,
    ),
    /** key, day */
    tagsOfDay: db.prepare<{ tag: string }, [number, number]>('SELECT DISTINCT tag FROM usage_tags WHERE key_number = ?1 AND day = ?2'),
    /** key, day, price, tag that is rolled up, requests, the six counters, cost, waived, estimated */
    addTagUsage: db.prepare(
      `INSERT INTO usage_tags (key_number, day, tag, model_number, price_number, requests, ${COUNTERS.join(', ')}, cost_picos, waived_picos, estimated_picos)
       VALUES (?1, ?2, ?4, (SELECT model_number FROM price_versions WHERE number = ?3), ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
       ON CONFLICT DO UPDATE SET requests = requests + ?5, input_tokens = input_tokens + ?6, output_tokens = output_tokens + ?7,
         cache_read_tokens = cache_read_tokens + ?8, cache_write_5m_tokens = cache_write_5m_tokens + ?9,
         cache_write_1h_tokens = cache_write_1h_tokens + ?10, server_tool_uses = server_tool_uses + ?11,
         cost_picos = cost_picos + ?12, waived_picos = waived_picos + ?13, estimated_picos = estimated_picos + ?14`,
    ),
  }
}

/** bun:sqlite's `run` also takes all values as one array, which its type does not say. Spreading thirty values over the call would copy them twice. */
type OfRow = Readonly<{ run(values: readonly Value[]): Changes }>

export type DebitStatements = Readonly<ReturnType<typeof prepareDebitStatements>>

const rowOf = (columns: readonly string[]): string => `(${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
