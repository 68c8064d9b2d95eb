/** The findings of a ledger on Postgres itself: a schema that is not this program's, rows without their parent, and what no node holds. Rules: money.md "Verify". */

import catalogue from '../../../db/postgres/catalogue.json' with { type: 'json' }
import invariants from '../../../db/postgres/invariants.sql' with { type: 'text' }
import type { Difference } from '../chain/difference.ts'
import { differencesInSteps } from '../chain/verify.ts'
import type { TellProgress } from '../chain/verify-progress.ts'
import type { Connection } from '../sql/connection.ts'
import { catalogueOf } from './catalogue.ts'
import { isStorageFailure, PostgresError } from './storage-failure.ts'

/** Empty for a sound ledger. If the schema differs, the rows may not be readable at all: then only the schema's differences are returned. */
export function differencesInDatabase(db: Connection, tell?: TellProgress): readonly Difference[] {
  const ofSchema = schemaFindings(db)
  try {
    return [...ofSchema, ...differencesInSteps(db, invariants, () => settledEnd(db), tell)]
  } catch (error) {
    if (ofSchema.length > 0 && error instanceof PostgresError && isOfStatement(error)) return ofSchema
    throw error
  }
}

/** A missing table or function counts as a storage failure for a writer; here it is a finding. Class 42: syntax and names. */
const isOfStatement = (error: PostgresError): boolean => !isStorageFailure(error) || error.sqlState.startsWith('42')

const OPEN_MS_MAX = 2_000
const LOOK_MS = 10

/**
 * The number up to which every receipt is committed or never will be. A transaction that writes has an id before it gets a number, and gets its numbers before it commits. A
 * snapshot knows no end of the ids that were given: those above the last one that has ended may run. So an id is taken after the greatest number was seen, and once all
 * transactions with lower ids have ended, no lower number can appear. Undefined: such a transaction stays open for long, this connection's own transaction writes, or the
 * server is a standby, which gives no ids.
 */
function settledEnd(db: Connection): number | undefined {
  const seen = db
    .query<{ end: bigint; isReadOnly: bigint }, []>(
      `SELECT (SELECT coalesce(max(number), 0) FROM receipts) AS end,
         pg_current_xact_id_if_assigned() IS NULL AND NOT pg_is_in_recovery() AS "isReadOnly"`,
    )
    .get()
  if (seen?.isReadOnly !== 1n) return undefined
  const given = db.query<{ id: bigint }, []>('SELECT CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT) AS id').get()
  const oldest = db.query<{ oldest: bigint }, []>('SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT) AS oldest')
  for (const lateMs = performance.now() + OPEN_MS_MAX; performance.now() < lateMs; Bun.sleepSync(LOOK_MS)) {
    if (given !== null && (oldest.get()?.oldest ?? 0n) >= given.id) return Number(seen.end)
  }
  return undefined
}

const RULE = 'the schema is that of this program'

/** A table, CHECK, index, function or trigger that was changed, dropped or turned off guards nothing any more. */
function schemaFindings(db: Connection): readonly Difference[] {
  const [actual, expected] = [catalogueOf(db), new Map(Object.entries(catalogue))]
  return [...new Set([...actual.keys(), ...expected.keys()])]
    .filter((name) => actual.get(name) !== expected.get(name))
    .map((name) => {
      const [stored = 'absent', recomputed = 'absent'] = [actual.get(name), expected.get(name)]
      return { rule: RULE, subject: name, stored, recomputed }
    })
}
