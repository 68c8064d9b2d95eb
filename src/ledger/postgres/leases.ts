/**
 * Moves leases on Postgres, all of a group as one statement (db/postgres/migrations/0006_leases.sql) and a transaction of its own. Rules: ledger.md
 * "Leases".
 */

import { type Picos, picos } from '../../core/money.ts'
import { hourAt, PERS, type Per, presentHour } from '../../core/windows.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../lease-move.ts'
import type { NodeIdentity } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import { PostgresArray } from './values.ts'

type Row = Readonly<{
  verdict: LeaseAnswer['verdict']
  refused_by: LeaseAnswer['refusedBy']
  account_backed: bigint
  account_has_more: bigint
  account_is_small: bigint
  key_backed: bigint
  plan_backed: bigint | null
  plan_has_more: bigint | null
  plan_is_small: bigint
  key_has_more: bigint
  key_is_small: bigint
  /** null: there is no such account. */
  balance: bigint | null
  key_spent: bigint | null
  /** null: no budget by window holds. */
  window_hour: bigint | null
  ledger_ms: bigint
  used_per: Per | null
  used_until: bigint | null
}>

const PARAMETERS = 22
const MOVE = `SELECT * FROM move_leases_6(${Array.from({ length: PARAMETERS }, (_, index) => `?${index + 1}`).join(', ')})`

/** The account is locked as in a move of its leases. */
const FOLLOW_CLOCK = `WITH locked AS (SELECT number FROM accounts WHERE number = ?1 FOR NO KEY UPDATE)
  UPDATE leases SET hour = ?2 FROM locked WHERE account_number = locked.number AND hour > ?2`

/**
 * Returns the answers in the order of the moves; undefined: no such account, as after a failover. Throws what Postgres says: then nothing moved, or the answer was lost. The leases of an account
 * keep its newest hour. Where that is of a clock that was wrong, they get the hour of the clock, and the moves are repeated, which finds what was granted.
 */
export function moveLeases(
  db: Connection,
  node: Pick<NodeIdentity, 'lane' | 'boot' | 'epoch'>,
  moves: readonly (LeaseMove | LeaseAsk)[],
): readonly (LeaseAnswer | undefined)[] {
  const answers = moved(db, node, moves)
  let isRepeated = false
  moves.forEach(({ accountNumber }, index) => {
    const windows = answers[index]?.windows
    const clock = windows === undefined ? 0 : hourAt(windows.ledgerMs)
    if (windows === undefined || presentHour(windows.hour, clock) === windows.hour) return
    db.query<unknown, [number, number]>(FOLLOW_CLOCK).all(accountNumber, clock)
    isRepeated = true
  })
  return isRepeated ? moved(db, node, moves) : answers
}

function moved(
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
  const asked = (move: LeaseMove | LeaseAsk) => ('windows' in move ? move.windows : undefined)
  const capOf = (move: LeaseMove | LeaseAsk, per: Per) => asked(move)?.planBudgets.find((budget) => budget.per === per)?.capPicos ?? null
  const rows = db.query<Row, never[]>(MOVE).all(
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
      column((move) => asked(move)?.hour ?? null),
      new PostgresArray(
        moves.map(({ plan }) => plan?.name ?? null),
        'TEXT',
      ),
      column(({ plan }) => plan?.runsPicos ?? null),
      ...PERS.map((per) => column((move) => capOf(move, per))),
      ...(['account', 'plan', 'key'] as const).flatMap((side) => [
        column((move) => asked(move)?.[side].heldPicos ?? null),
        column((move) => asked(move)?.[side].earlierPicos ?? null),
      ]),
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
        ...(row.plan_backed === null
          ? {}
          : { plan: { backedPicos: picos(row.plan_backed), hasMore: row.plan_has_more === 1n, isSmall: row.plan_is_small === 1n } }),
        ...(row.window_hour === null ? {} : { windows: { hour: Number(row.window_hour), ledgerMs: Number(row.ledger_ms) } }),
        ...(row.used_per === null ? {} : { used: { per: row.used_per, resetsAt: Number(row.used_until) } }),
      }
