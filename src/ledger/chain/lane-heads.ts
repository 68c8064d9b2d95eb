/** Where the chains of an account end, one for each lane that wrote into it. Rules: ledger.md "Chain". */

import type { Connection } from '../sql/connection.ts'
import { NO_HASH } from './chain.ts'

export type LaneHead = Readonly<{ lane: number; count: number; hash: string }>

/** By lane; an account without a row has an empty lane 0. */
export function laneHeads(db: Connection, account: number): readonly LaneHead[] {
  const heads = db
    .query<{ lane: bigint; count: bigint; hash: string }, [number]>(
      'SELECT lane, chain_count AS count, lower(hex(chain_hash)) AS hash FROM chain_heads WHERE account_number = ? ORDER BY lane',
    )
    .all(account)
    .map(({ lane, count, hash }) => ({ lane: Number(lane), count: Number(count), hash }))
  return heads.length === 0 ? [{ lane: 0, count: 0, hash: NO_HASH }] : heads
}
