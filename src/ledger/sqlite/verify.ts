/** The findings that only a file has: damage, rows without their parent, and a schema that is not this program's. Rules: money.md "Verify". */

import { Database } from 'bun:sqlite'
import { makeTables } from '../../../db/migrations.ts'
import invariants from '../../../db/sqlite/invariants.sql' with { type: 'text' }
import type { Difference } from '../chain/difference.ts'
import { broken, differences } from '../chain/verify.ts'
import type { TellProgress } from '../chain/verify-progress.ts'
import type { Connection } from '../sql/connection.ts'

/** Empty for a sound ledger. */
export const differencesInFile = (db: Connection, tell?: TellProgress): readonly Difference[] =>
  differences(db, () => [...storageFindings(db), ...schemaFindings(db), ...broken(db, invariants)], tell)

function storageFindings(db: Connection): readonly Difference[] {
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
function schemaFindings(db: Connection): readonly Difference[] {
  const fresh = new Database(':memory:', { safeIntegers: true })
  makeTables(fresh)
  const [actual, expected] = [schemaOf(db), schemaOf(fresh)]
  fresh.close()
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name))
    .map((name) => {
      const [stored = 'absent', recomputed = 'absent'] = [actual.get(name), expected.get(name)]
      return { rule: 'the schema is that of this program', subject: name, stored, recomputed }
    })
}

const schemaOf = (db: Connection): ReadonlyMap<string, string> =>
  new Map(
    db
      .query<{ name: string; sql: string }, []>("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
      .all()
      .map(({ name, sql }) => [name, sql]),
  )
