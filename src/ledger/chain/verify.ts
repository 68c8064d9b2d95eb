/** Recomputes everything that the ledger keeps twice, and names what differs. Rules: money.md "Verify". */

import invariants from '../../../db/invariants.sql' with { type: 'text' }
import type { Connection } from '../sql/connection.ts'
import type { Difference } from './difference.ts'
import { chainFindings } from './verify-chain.ts'
import { NO_TELL, type TellProgress } from './verify-progress.ts'

/** `low` is a number if a sum left int64: SQLite then continues in floating point, which is a difference in any case. */
type Row = { rule: string; subject: string; stored: bigint | string; high: bigint; low: bigint | number | string; told?: string | null }

const LIMB = 1_000_000n

/**
 * Empty for a sound ledger. All queries run in one read transaction, so that a gateway that writes meanwhile causes no differences. `ownFindings`: the findings that only
 * this kind of store has; it is called first.
 */
export const differences = (
  db: Connection,
  ownFindings: () => readonly Difference[],
  tell: TellProgress = NO_TELL,
): readonly Difference[] =>
  db.transaction(() => [...ownFindings(), ...broken(db, invariants, tell), ...chainFindings(db, undefined, tell)])()

/**
 * The same findings for a store whose writers pay for every long snapshot. Each rule has a snapshot of its own, which is enough, because a rule is one query; the walk of the
 * chains has many short ones. `ownQueries`: see `queries` of `broken`. `settledEnd`: see `chainFindings`.
 */
export const differencesInSteps = (
  db: Connection,
  ownQueries: string,
  settledEnd: () => number | undefined,
  tell: TellProgress = NO_TELL,
): readonly Difference[] => [...broken(db, ownQueries), ...broken(db, invariants, tell), ...chainFindings(db, settledEnd, tell)]

/** The rows of rules that do not hold. `queries`: in the form of db/invariants.sql. */
export function broken(db: Connection, queries: string, tell: TellProgress = NO_TELL): readonly Difference[] {
  const rules = queries
    .split(';\n')
    .map((query) => query.trim())
    .filter((query) => query !== '')
  return rules.flatMap((query, index) => {
    tell({ step: 'rules', done: index, of: rules.length })
    return db.query<Row, []>(query).all().map(differenceOf)
  })
}

const differenceOf = ({ rule, subject, stored, high, low, told = null }: Row): Difference => ({
  rule,
  subject,
  stored: String(stored),
  recomputed: told ?? (typeof low === 'bigint' ? String(high * LIMB + low) : String(low)),
})
