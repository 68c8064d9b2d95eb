/** Recomputes everything that the ledger keeps twice, and names what differs. Rules: money.md "Verify". */

import invariants from '../../db/invariants.sql' with { type: 'text' }
import type { Connection } from './connection.ts'
import type { Difference } from './difference.ts'
import { chainFindings } from './verify-chain.ts'

/** A number is a sum that left int64: SQLite goes on in floating point, which is a difference in any case. */
type Row = { rule: string; subject: string; stored: bigint | string; high: bigint; low: bigint | number | string }

const LIMB = 1_000_000n
const QUERIES = invariants
  .split(';\n')
  .map((query) => query.trim())
  .filter((query) => query !== '')

/**
 * Empty for a sound ledger. One read transaction, so that a gateway that writes meanwhile makes no differences. `ownFindings`: what only this kind of store can
 * tell of itself, asked first.
 */
export const differences = (db: Connection, ownFindings: () => readonly Difference[]): readonly Difference[] =>
  db.transaction(() => [
    ...ownFindings(),
    ...QUERIES.flatMap((query) => db.query<Row, []>(query).all().map(differenceOf)),
    ...chainFindings(db),
  ])()

const differenceOf = ({ rule, subject, stored, high, low }: Row): Difference => ({
  rule,
  subject,
  stored: String(stored),
  recomputed: typeof low === 'bigint' ? String(high * LIMB + low) : String(low),
})
