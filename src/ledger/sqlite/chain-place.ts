/** The ends of a file's chains: they stand in the rows of the accounts, and all chains are of lane 0. Rules: ledger.md "Chain". */

import type { Database } from 'bun:sqlite'
import type { ChainPlace } from '../sql/chain-place.ts'

export function chainPlaceOf(db: Database): ChainPlace {
  const head = db.prepare<{ account: bigint; id: string; count: bigint; hash: Uint8Array | null }, [number]>(
    'SELECT number AS account, id, chain_count AS count, chain_hash AS hash FROM accounts WHERE number = ?',
  )
  const key = db.prepare<{ id: string }, [number]>('SELECT id FROM keys WHERE number = ?')
  const setHead = db.prepare<undefined, [number, number, Buffer]>('UPDATE accounts SET chain_count = ?2, chain_hash = ?3 WHERE number = ?1')
  return {
    lane: 0,
    headsOf: (accounts) =>
      accounts.flatMap((account) => {
        const row = head.get(account)
        return row === null ? [] : [{ account, id: row.id, count: Number(row.count), hash: row.hash && Buffer.from(row.hash) }]
      }),
    keyIdsOf: (keys) =>
      keys.flatMap((number) => {
        const row = key.get(number)
        return row === null ? [] : [{ key: number, id: row.id }]
      }),
    setHead: (account, count, hash) => {
      setHead.run(account, count, hash)
    },
  }
}
