/** The statements of a request's end: a receipt, the sums of a group on account, key and day, and the marks before it. Rules: ledger.md "Guards". */

import { eq, ne, sql } from 'drizzle-orm'
import { accounts, boots, keys, marks, models, priceVersions, receipts, upstreams } from '../../db/schema.ts'
import { type Connection, ormOf } from './connection.ts'

const COUNTERS = 'input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses'

const RECEIPT_COLUMNS = `request_id, account_number, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, attempts,
  format, is_stream, outcome, basis, bytes_per_token_thousandths, status, ${COUNTERS}, cost_picos, waived_picos, hold_picos, session_hash, started_at, settled_at,
  day, first_byte_ms, duration_ms, seq, hash`

const MARK_COLUMNS = `request_id, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, format, is_stream,
  hold_picos, started_at, marked_at, basis,  bytes_per_token_thousandths, ${COUNTERS}`

const ATTEMPT_COLUMNS = `request_id, attempt, account_number, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, status,
  cause, basis, ${COUNTERS}, price_picos, started_at, duration_ms`

export const requestStatements = (db: Connection) => ({ ...debitStatements(db), ...markStatements(db), ...numberStatements(db) })

function debitStatements(db: Connection) {
  return {
    /** A receipt that is there already stays as it is, and `changes` is 0. */
    insertReceipt: db.prepare(
      `INSERT INTO receipts (${RECEIPT_COLUMNS}) VALUES (${places(RECEIPT_COLUMNS)}) ON CONFLICT (request_id) DO NOTHING`,
    ),
    insertAttempt: db.prepare(
      `INSERT INTO attempts (${ATTEMPT_COLUMNS}) VALUES (${places(ATTEMPT_COLUMNS)}) ON CONFLICT (request_id, attempt) DO NOTHING`,
    ),
    /** key, header, body, request, expiry, time of the settle: one that still counts stays */
    putIdempotency: db.prepare(
      `INSERT INTO idempotency (key_number, header_hash, body_hash, request_id, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (key_number, header_hash) DO UPDATE SET body_hash = excluded.body_hash, request_id = excluded.request_id, expires_at = excluded.expires_at
       WHERE idempotency.expires_at <= ?6`,
    ),
    /** account, cost, count and hash of its chain */
    debitAccount: db.prepare<undefined, [number, bigint, number, Buffer | null]>(
      'UPDATE accounts SET spent_picos = spent_picos + ?2, balance_picos = balance_picos - ?2, chain_count = ?3, chain_hash = ?4 WHERE number = ?1',
    ),
    /** key, cost, time */
    debitKey: db.prepare<undefined, [number, bigint, number]>(
      `UPDATE keys SET spent_picos = spent_picos + ?2, last_synced_at = max(last_synced_at, ?3), last_used_at = max(coalesce(last_used_at, 0), ?3)
       WHERE number = ?1`,
    ),
    /** key, day, price (its model is written beside it), requests, the six counters, cost, waived, estimated */
    addUsage: db.prepare(
      `INSERT INTO usage_daily (key_number, day, model_number, price_number, requests, ${COUNTERS}, cost_picos, waived_picos, estimated_picos)
       VALUES (?1, ?2, (SELECT model_number FROM price_versions WHERE number = ?3), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
       ON CONFLICT DO UPDATE SET requests = requests + ?4, input_tokens = input_tokens + ?5, output_tokens = output_tokens + ?6,
         cache_read_tokens = cache_read_tokens + ?7, cache_write_5m_tokens = cache_write_5m_tokens + ?8,
         cache_write_1h_tokens = cache_write_1h_tokens + ?9, server_tool_uses = server_tool_uses + ?10,
         cost_picos = cost_picos + ?11, waived_picos = waived_picos + ?12, estimated_picos = estimated_picos + ?13`,
    ),
  }
}

function markStatements(db: Connection) {
  const orm = ormOf(db)
  return {
    putMark: db.prepare(`INSERT INTO marks (${MARK_COLUMNS}) VALUES (${places(MARK_COLUMNS)}) ON CONFLICT (request_id) DO UPDATE SET
      ${['upstream_number', 'upstream_message_id', 'upstream_request_id', 'marked_at', 'basis', 'bytes_per_token_thousandths', ...COUNTERS.split(', ')].map((name) => `${name} = excluded.${name}`).join(', ')}`),
    deleteMark: db.prepare<undefined, [string]>('DELETE FROM marks WHERE request_id = ?'),
    receiptFigures: orm
      .select({
        accountNumber: receipts.accountNumber,
        keyNumber: receipts.keyNumber,
        bootNumber: receipts.bootNumber,
        costPicos: receipts.costPicos,
        waivedPicos: receipts.waivedPicos,
        usage: {
          input: receipts.inputTokens,
          output: receipts.outputTokens,
          cacheRead: receipts.cacheReadTokens,
          cacheWrite5m: receipts.cacheWrite5mTokens,
          cacheWrite1h: receipts.cacheWrite1hTokens,
          serverToolUses: receipts.serverToolUses,
        },
      })
      .from(receipts)
      .where(eq(receipts.requestId, sql.placeholder('requestId')))
      .prepare(),
    isSettled: orm
      .select({ requestId: receipts.requestId })
      .from(receipts)
      .where(eq(receipts.requestId, sql.placeholder('requestId')))
      .prepare(),
    marksOfOtherBoots: orm
      .select({
        mark: marks,
        accountNumber: accounts.number,
        modelId: models.id,
        price: priceVersions,
        upstream: upstreams,
        otherAttempts: sql`(select count(*) from attempts where attempts.request_id = marks.request_id)`.mapWith(Number),
      })
      .from(marks)
      .innerJoin(keys, eq(keys.number, marks.keyNumber))
      .innerJoin(accounts, eq(accounts.number, keys.accountNumber))
      .innerJoin(priceVersions, eq(priceVersions.number, marks.priceNumber))
      .innerJoin(models, eq(models.number, priceVersions.modelNumber))
      .leftJoin(upstreams, eq(upstreams.number, marks.upstreamNumber))
      .where(ne(marks.bootNumber, sql.placeholder('boot')))
      .prepare(),
  }
}

/** What has a number inside: each is inserted once, where it is not there yet, and then asked for. */
function numberStatements(db: Connection) {
  const number = <Params extends (string | bigint | number)[]>(text: string) => db.prepare<{ number: bigint }, Params>(text)
  const orm = ormOf(db)
  return {
    insertBoot: orm
      .insert(boots)
      .values({ id: sql.placeholder('id'), node: sql.placeholder('node'), startedAt: sql.placeholder('startedAt') })
      .onConflictDoNothing()
      .prepare(),
    bootNumber: number<[string]>('SELECT number FROM boots WHERE id = ?'),
    insertModel: orm
      .insert(models)
      .values({ id: sql.placeholder('id') })
      .onConflictDoNothing()
      .prepare(),
    modelNumber: number<[string]>('SELECT number FROM models WHERE id = ?'),
    insertPrice: orm
      .insert(priceVersions)
      .values({
        modelNumber: sql.placeholder('model'),
        inputRatePicos: sql.placeholder('input'),
        outputRatePicos: sql.placeholder('output'),
        cacheReadRatePicos: sql.placeholder('cacheRead'),
        cacheWrite5mRatePicos: sql.placeholder('cacheWrite5m'),
        cacheWrite1hRatePicos: sql.placeholder('cacheWrite1h'),
        serverToolUseRatePicos: sql.placeholder('serverToolUse'),
      })
      .onConflictDoNothing()
      .prepare(),
    priceNumber: number<[number, bigint, bigint, bigint, bigint, bigint, bigint]>(
      `SELECT number FROM price_versions WHERE model_number = ? AND input_rate_picos = ? AND output_rate_picos = ? AND cache_read_rate_picos = ?
         AND cache_write_5m_rate_picos = ? AND cache_write_1h_rate_picos = ? AND server_tool_use_rate_picos = ?`,
    ),
    insertUpstream: orm
      .insert(upstreams)
      .values({ name: sql.placeholder('name'), model: sql.placeholder('model') })
      .onConflictDoNothing()
      .prepare(),
    upstreamNumber: number<[string, string]>('SELECT number FROM upstreams WHERE name = ? AND model = ?'),
  }
}

const places = (columns: string): string =>
  columns
    .split(',')
    .map(() => '?')
    .join(', ')
