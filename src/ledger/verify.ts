/** Recomputes everything that the ledger keeps twice, and names what differs. Rules: money.md "Verify". */

import { Database } from 'bun:sqlite'
import invariants from '../../db/invariants.sql' with { type: 'text' }
import { migrate } from '../../db/migrate.ts'
import type { Difference } from './difference.ts'
import { chainFindings } from './verify-chain.ts'

/** A number is a sum that left int64: SQLite goes on in floating point, which is a difference in any case. */
type Row = { rule: string; subject: string; stored: bigint | string; high: bigint; low: bigint | number | string }

const LIMB = 1_000_000n
const QUERIES = invariants
  .split(';\n')
  .map((query) => query.trim())
  .filter((query) => query !== '')

/** Empty for a sound ledger. One read transaction, so that a gateway that writes meanwhile makes no differences. */
export function differences(db: Database): readonly Difference[] {
  return db.transaction(() => [
    ...storageFindings(db),
    ...schemaFindings(db),
    ...QUERIES.flatMap((query) => db.query<Row, []>(query).all().map(differenceOf)),
    ...chainFindings(db),
  ])()
}

function storageFindings(db: Database): readonly Difference[] {
  const findings = db.query<{ quick_check: string }, []>('PRAGMA quick_check').all()
  const orphans = db.query<{ table: string; parent: string }, []>('PRAGMA foreign_key_check').all()
  return [
    ...findings
      .filter((finding) => finding.quick_check !== 'ok')
      .map(({ quick_check }) => ({ rule: 'the file is whole', subject: 'file', stored: quick_check, recomputed: 'ok' })),
    ...orphans.map(({ table, parent }) => ({
      rule: 'every row has its parent',
      subject: table,
      stored: 'a row',
      recomputed: `none in ${parent}`,
    })),
  ]
}

/** A table, CHECK, index or trigger that was changed or dropped guards nothing any more. */
function schemaFindings(db: Database): readonly Difference[] {
  const fresh = new Database(':memory:', { safeIntegers: true })
  migrate(fresh, 0)
  const [actual, expected] = [schemaOf(db), schemaOf(fresh)]
  fresh.close()
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name))
    .map((name) => {
      const [stored = 'absent', recomputed = 'absent'] = [actual.get(name), expected.get(name)]
      return { rule: 'the schema is that of this program', subject: name, stored, recomputed }
    })
}

const schemaOf = (db: Database): ReadonlyMap<string, string> =>
  new Map(
    db
      .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
      .all()
      .map(({ name, sql }) => [name, sql]),
  )

const differenceOf = ({ rule, subject, stored, high, low }: Row): Difference => ({
  rule,
  subject,
  stored: String(stored),
  recomputed: typeof low === 'bigint' ? String(high * LIMB + low) : String(low),
})
