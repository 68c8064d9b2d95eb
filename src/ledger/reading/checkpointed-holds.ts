/** The holds of all nodes, as far as the database has them: requests that have run for more than a second have a checkpoint in it. Rules: money.md "Crashes". */

import type { FormatName } from '../../core/format.ts'
import { picos } from '../../core/money.ts'
import type { Hold } from '../ledger.ts'
import type { Connection } from '../sql/connection.ts'

/** `after`: the last request of the page before; null: from the oldest on. */
export type CheckpointsQuery = Readonly<{ keyId: string | null; accountId: string | null; after: string | null; limit: number }>

type Row = {
  requestId: string
  keyId: string
  accountId: string
  modelId: string
  format: string
  isStream: bigint
  hold: bigint
  startedAt: bigint
}

/** The holds in the order of their request ids, which is the order in which the requests came in. */
export const checkpointedHolds = (db: Connection, { keyId, accountId, after, limit }: CheckpointsQuery): readonly Hold[] =>
  db
    .query<Row, [string, string | null, string | null, number]>(
      `SELECT t.request_id AS "requestId", k.id AS "keyId", a.id AS "accountId", m.id AS "modelId", t.format, t.is_stream AS "isStream",
         t.hold_picos AS hold, t.started_at AS "startedAt"
       FROM marks t JOIN keys k ON k.number = t.key_number JOIN accounts a ON a.number = k.account_number
         JOIN price_versions p ON p.number = t.price_number JOIN models m ON m.number = p.model_number
       WHERE t.request_id > ?1 AND (CAST(?2 AS TEXT) IS NULL OR k.id = ?2) AND (CAST(?3 AS TEXT) IS NULL OR a.id = ?3)
       ORDER BY t.request_id LIMIT ?4`,
    )
    .all(after ?? '', keyId, accountId, limit)
    .map(({ format, isStream, hold, startedAt, ...ids }) => ({
      ...ids,
      format: format as FormatName,
      isStream: isStream === 1n,
      amountPicos: picos(hold),
      startedAt: Number(startedAt),
    }))
