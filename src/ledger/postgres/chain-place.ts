/** The ends of a node's chains: they are rows of the node's own lane, which no other node writes. Rules: ledger.md "Chain", "Settles on Postgres". */

import type { ChainPlace } from '../sql/chain-place.ts'
import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'

export function chainPlaceOf(db: Connection, lane: number): ChainPlace {
  const heads = db.query<{ account: bigint; id: string; count: bigint | null; hash: Buffer | null }, [number, string]>(
    `SELECT accounts.number AS account, accounts.id, head.chain_count AS count, head.chain_hash AS hash
     FROM accounts LEFT JOIN chain_heads AS head ON head.account_number = accounts.number AND head.lane = ?1
     WHERE accounts.number = ${anyOf('?2', 'BIGINT')}`,
  )
  const keyIds = db.query<{ key: bigint; id: string }, [string]>(
    `SELECT number AS key, id FROM keys WHERE number = ${anyOf('?1', 'BIGINT')}`,
  )
  const setHead = db.query<undefined, [number, number, number, Buffer]>(
    `INSERT INTO chain_heads (account_number, lane, chain_count, chain_hash) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (account_number, lane) DO UPDATE SET chain_count = excluded.chain_count, chain_hash = excluded.chain_hash`,
  )
  return {
    lane,
    headsOf: (accounts) =>
      heads
        .all(lane, arrayText(accounts))
        .map(({ account, id, count, hash }) => ({ account: Number(account), id, count: Number(count ?? 0n), hash })),
    keyIdsOf: (keys) => keyIds.all(arrayText(keys)).map(({ key, id }) => ({ key: Number(key), id })),
    setHead: (account, count, hash) => {
      setHead.run(account, lane, count, hash)
    },
  }
}
