/** Recomputes everything that the ledger keeps twice, and names what differs. Rules: money.md "Verify". */

import invariants from '../../../db/invariants.sql' with { type: 'text' }
import type { Connection } from '../sql/connection.ts'
import type { Difference } from './difference.ts'
import { chainFindings } from './verify-chain.ts'

/** `low` is a number where a sum left int64: SQLite goes on in floating point, which is a difference in any case. */
type Row = { rule: string; subject: string; stored: bigint | string; high: bigint; low: bigint | number | string; told?: string | null }

const LIMB = 1_000_000n

/**
 * Empty for a sound ledger. One read transaction, so that a gateway that writes meanwhile makes no differences. `ownFindings`: what only this kind of store can
 * tell of itself, asked first.
 */
export const differences = (db: Connection, ownFindings: () => readonly Difference[]): readonly Difference[] =>
  db.transaction(() => [...ownFindings(), ...broken(db, invariants), ...chainFindings(db)])()

/**
 * The same where the writers pay for every snapshot that is kept: each rule has one of its own, which is enough, because it is one query; the chains have many
 * short ones. `ownQueries`: as `queries` below. `settledEnd`: see chainFindings.
 */
export const differencesInSteps = (db: Connection, ownQueries: string, settledEnd: () => number | undefined): readonly Difference[] => [
  ...broken(db, ownQueries),
  ...broken(db, invariants),
  ...chainFindings(db, settledEnd),
]

/** `queries`: as in db/invariants.sql. */
export const broken = (db: Connection, queries: string): readonly Difference[] =>
  queries
    .split(';\n')
    .map((query) => query.trim())
    .filter((query) => query !== '')
    .flatMap((query) => db.query<Row, []>(query).all().map(differenceOf))

const differenceOf = ({ rule, subject, stored, high, low, told = null }: Row): Difference => ({
  rule,
  subject,
  stored: String(stored),
  recomputed: told ?? (typeof low === 'bigint' ? String(high * LIMB + low) : String(low)),
})
