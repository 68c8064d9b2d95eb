/**
 * The statements of a request's life: hold, mark, settle, void. A guard stands in the WHERE of the UPDATE that it guards: no row back means not granted.
 * Rules: ledger.md "Guards".
 */

import type { Database } from 'bun:sqlite'
import { ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { holds } from '../../db/schema.ts'
import type { Picos } from '../core/money.ts'

const RATES =
  'input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos, server_tool_use_rate_picos'
const COUNTERS = 'input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses'
const COUNTER_VALUES = '$input, $output, $cacheRead, $cacheWrite5m, $cacheWrite1h, $serverToolUses'

/** Counters as they are bound. */
export type BoundUsage = Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h' | 'serverToolUses', bigint>
type BoundRates = Record<
  'inputRate' | 'outputRate' | 'cacheReadRate' | 'cacheWrite5mRate' | 'cacheWrite1hRate' | 'serverToolUseRate',
  Picos
>

export function requestStatements(db: Database) {
  return { ...grants(db), ...ends(db) }
}

function grants(db: Database) {
  return {
    isHeld: db.query<{ one: bigint }, { requestId: string }>('SELECT 1 AS one FROM holds WHERE request_id = $requestId'),
    holdOnKey: db.query<{ account_id: string }, { keyId: string; amount: Picos; now: bigint }>(
      `UPDATE keys SET held_picos = held_picos + $amount
       WHERE id = $keyId AND is_active = 1 AND (expires_at IS NULL OR expires_at > $now)
         AND (limit_picos IS NULL OR limit_picos - spent_picos - held_picos > 0)
       RETURNING account_id`,
    ),
    holdOnAccount: db.query<{ id: string }, { accountId: string; amount: Picos }>(
      `UPDATE accounts SET held_picos = held_picos + $amount
       WHERE id = $accountId AND is_active = 1 AND balance_picos - held_picos > 0
       RETURNING id`,
    ),
    insertHold: db.query<
      undefined,
      {
        requestId: string
        accountId: string
        keyId: string
        modelId: string
        format: string
        isStream: bigint
        amount: Picos
        bootId: string
        now: bigint
      } & BoundRates
    >(
      `INSERT INTO holds (request_id, account_id, key_id, model_id, format, is_stream, amount_picos, ${RATES}, boot_id, started_at)
       VALUES ($requestId, $accountId, $keyId, $modelId, $format, $isStream, $amount,
         $inputRate, $outputRate, $cacheReadRate, $cacheWrite5mRate, $cacheWrite1hRate, $serverToolUseRate, $bootId, $now)`,
    ),
    markHold: db.query<undefined, { requestId: string; now: bigint } & BoundUsage>(
      `UPDATE holds SET marked_at = $now, marked_input_tokens = $input, marked_output_tokens = $output, marked_cache_read_tokens = $cacheRead,
         marked_cache_write_5m_tokens = $cacheWrite5m, marked_cache_write_1h_tokens = $cacheWrite1h, marked_server_tool_uses = $serverToolUses
       WHERE request_id = $requestId`,
    ),
  }
}

function ends(db: Database) {
  return {
    /** The receipt takes over what the hold says of the request, its rates too; no hold, no receipt. */
    insertReceipt: db.query<
      { account_id: string; key_id: string; model_id: string; hold_picos: Picos },
      {
        requestId: string
        outcome: string
        usageSource: string
        status: bigint
        cost: Picos
        waived: Picos
        now: bigint
        firstByteMs: bigint | null
        durationMs: bigint
      } & BoundUsage
    >(
      `INSERT INTO receipts (request_id, account_id, key_id, model_id, format, is_stream, ${RATES}, hold_picos, boot_id, started_at,
         outcome, usage_source, status, ${COUNTERS}, cost_picos, waived_picos, settled_at, first_byte_ms, duration_ms)
       SELECT request_id, account_id, key_id, model_id, format, is_stream, ${RATES}, amount_picos, boot_id, started_at,
         $outcome, $usageSource, $status, ${COUNTER_VALUES}, $cost, $waived, $now, $firstByteMs, $durationMs
       FROM holds WHERE request_id = $requestId
       RETURNING account_id, key_id, model_id, hold_picos`,
    ),
    deleteHold: db.query<{ account_id: string; key_id: string; amount_picos: Picos }, { requestId: string }>(
      'DELETE FROM holds WHERE request_id = $requestId RETURNING account_id, key_id, amount_picos',
    ),
    debitAccount: db.query<undefined, { accountId: string; held: Picos; cost: Picos }>(
      `UPDATE accounts SET held_picos = held_picos - $held, spent_picos = spent_picos + $cost, balance_picos = balance_picos - $cost
       WHERE id = $accountId`,
    ),
    debitKey: db.query<undefined, { keyId: string; held: Picos; cost: Picos; now: bigint }>(
      `UPDATE keys SET held_picos = held_picos - $held, spent_picos = spent_picos + $cost, last_synced_at = max(last_synced_at, $now)
       WHERE id = $keyId`,
    ),
    releaseOnAccount: db.query<undefined, { accountId: string; held: Picos }>(
      'UPDATE accounts SET held_picos = held_picos - $held WHERE id = $accountId',
    ),
    releaseOnKey: db.query<undefined, { keyId: string; held: Picos }>('UPDATE keys SET held_picos = held_picos - $held WHERE id = $keyId'),
    addUsage: db.query<
      undefined,
      { accountId: string; keyId: string; day: bigint; modelId: string; cost: Picos; waived: Picos } & BoundUsage
    >(
      `INSERT INTO usage_daily (account_id, key_id, day, model_id, requests, ${COUNTERS}, cost_picos, waived_picos)
       VALUES ($accountId, $keyId, $day, $modelId, 1, ${COUNTER_VALUES}, $cost, $waived)
       ON CONFLICT DO UPDATE SET requests = requests + 1, input_tokens = input_tokens + $input, output_tokens = output_tokens + $output,
         cache_read_tokens = cache_read_tokens + $cacheRead, cache_write_5m_tokens = cache_write_5m_tokens + $cacheWrite5m,
         cache_write_1h_tokens = cache_write_1h_tokens + $cacheWrite1h, server_tool_uses = server_tool_uses + $serverToolUses,
         cost_picos = cost_picos + $cost, waived_picos = waived_picos + $waived`,
    ),
    holdsOfOtherBoots: drizzle(db)
      .select()
      .from(holds)
      .where(ne(holds.bootId, sql.placeholder('bootId')))
      .prepare(),
  }
}
