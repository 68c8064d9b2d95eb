/**
 * Moves leases on Postgres, all of a group as one statement (db/postgres/migrations/0002_leases.sql) and a transaction of its own. Rules: ledger.md
 * "Leases".
 */

import { type Picos, picos } from '../../core/money.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../task.ts'
import { PostgresArray } from './values.ts'

type Row = Readonly<{
  verdict: LeaseAnswer['verdict']
  refused_by: LeaseAnswer['refusedBy']
  account_backed: bigint
  account_has_more: bigint
  account_is_small: bigint
  key_backed: bigint
  key_has_more: bigint
  key_is_small: bigint
  /** null: there is no such account. */
  balance: bigint | null
  key_spent: bigint | null
}>

const MOVE = 'SELECT * FROM move_leases(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)'

/** Returns the answers in the order of the moves; undefined: no such account, as after a failover. Throws what Postgres says: then nothing moved, or the answer was lost. */
export function moveLeases(
  db: Connection,
  { lane, boot, epoch }: Pick<NodeIdentity, 'lane' | 'boot' | 'epoch'>,
  moves: readonly (LeaseMove | LeaseAsk)[],
): readonly (LeaseAnswer | undefined)[] {
  const column = (valueIn: (move: LeaseMove | LeaseAsk) => number | Picos | null): PostgresArray =>
    new PostgresArray(
      moves.map((move) => {
        const value = valueIn(move)
        return value === null ? null : BigInt(value)
      }),
      'BIGINT',
    )
  const rows = db
    .query<Row, never[]>(MOVE)
    .all(
      ...([
        lane,
        boot,
        epoch,
        column(({ number }) => number),
        column(({ accountNumber }) => accountNumber),
        column(({ accountRunsPicos }) => accountRunsPicos),
        column(({ keyNumber }) => keyNumber),
        column(({ keyRunsPicos }) => keyRunsPicos),
        column((move) => ('amountPicos' in move ? move.amountPicos : null)),
      ] as never[]),
    )
  return rows.map(answerOf)
}

const answerOf = ({ balance, ...row }: Row): LeaseAnswer | undefined =>
  balance === null
    ? undefined
    : {
        verdict: row.verdict,
        refusedBy: row.refused_by,
        account: { backedPicos: picos(row.account_backed), hasMore: row.account_has_more === 1n, isSmall: row.account_is_small === 1n },
        key: { backedPicos: picos(row.key_backed), hasMore: row.key_has_more === 1n, isSmall: row.key_is_small === 1n },
        balancePicos: picos(balance),
        spentPicos: picos(row.key_spent ?? 0n),
      }
