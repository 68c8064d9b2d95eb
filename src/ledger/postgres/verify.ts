/** What a ledger on Postgres tells of itself when it is verified: a schema that is not this program's, rows without their parent, and what nobody holds. Rules: money.md "Verify". */

import catalogue from '../../../db/postgres/catalogue.json' with { type: 'json' }
import invariants from '../../../db/postgres/invariants.sql' with { type: 'text' }
import type { Connection } from '../connection.ts'
import type { Difference } from '../difference.ts'
import { broken, differences } from '../verify.ts'
import { catalogueOf } from './catalogue.ts'

/** Empty for a sound ledger. */
export const differencesInDatabase = (db: Connection): readonly Difference[] =>
  differences(db, () => [...schemaFindings(db), ...broken(db, invariants)])

/** A table, CHECK, index, function or trigger that was changed, dropped or turned off guards nothing any more. */
function schemaFindings(db: Connection): readonly Difference[] {
  const [actual, expected] = [catalogueOf(db), new Map(Object.entries(catalogue))]
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name))
    .map((name) => {
      const [stored = 'absent', recomputed = 'absent'] = [actual.get(name), expected.get(name)]
      return { rule: 'the schema is that of this program', subject: name, stored, recomputed }
    })
}
