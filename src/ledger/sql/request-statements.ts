/** The reads at the end of a request, and the numbers that its row names. Each store has its own statements for writing the row. Rules: ledger.md "Two stores". */

import { eq, sql } from 'drizzle-orm'
import { SCHEMA_VERSION } from '../../../db/migrations.ts'
import { boots } from '../../../db/schema/boots.ts'
import { models, priceVersions, upstreams } from '../../../db/schema/prices.ts'
import { receipts } from '../../../db/schema/requests.ts'
import { type Connection, ormOf } from './connection.ts'

export const requestStatements = (db: Connection) => ({ ...checkpointStatements(db), ...numberStatements(db) })

function checkpointStatements(db: Connection) {
  const orm = ormOf(db)
  return {
    deleteCheckpoint: db.prepare<undefined, [string]>('DELETE FROM marks WHERE request_id = ?'),
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
  }
}

/** Rows name models, prices and upstreams by number: each is inserted once, if it is not there yet, and then looked up. */
function numberStatements(db: Connection) {
  const number = <Params extends (string | bigint | number)[]>(text: string) => db.prepare<{ number: bigint }, Params>(text)
  const orm = ormOf(db)
  return {
    insertBoot: orm
      .insert(boots)
      .values({
        id: sql.placeholder('id'),
        node: sql.placeholder('node'),
        startedAt: sql.placeholder('startedAt'),
        schemaVersion: SCHEMA_VERSION,
      })
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
        abovePromptTokens: sql.placeholder('above'),
        priceGroup: sql.placeholder('group'),
        factorMillionths: sql.placeholder('factor'),
      })
      .onConflictDoNothing()
      .prepare(),
    priceNumber: number<[number, bigint, bigint, bigint, bigint, bigint, bigint, string, number, number]>(
      `SELECT number FROM price_versions WHERE model_number = ? AND input_rate_picos = ? AND output_rate_picos = ? AND cache_read_rate_picos = ?
         AND cache_write_5m_rate_picos = ? AND cache_write_1h_rate_picos = ? AND server_tool_use_rate_picos = ? AND price_group = ? AND above_prompt_tokens = ?
         AND factor_millionths = ?`,
    ),
    insertUpstream: orm
      .insert(upstreams)
      .values({ name: sql.placeholder('name'), model: sql.placeholder('model') })
      .onConflictDoNothing()
      .prepare(),
    upstreamNumber: number<[string, string]>('SELECT number FROM upstreams WHERE name = ? AND model = ?'),
  }
}
