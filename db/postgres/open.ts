/**
 * Opens the ledger's database: refuses a server that would not keep its promises, and a database that is not a sound ledger of this version.
 * Rules: ledger.md "Two stores".
 */

import type { Access } from '../open.ts'
import { type DatabaseProblem, versionProblem } from '../problem.ts'
import { findLedger, MIGRATIONS, makeTables, type Runs } from './migrations.ts'
import { SERVER_VERSIONS } from './server-versions.ts'

/** Settings that must be on: without one of them, a crash of the server loses writes that it has acknowledged. */
const NEVER_OFF = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

type Server = Readonly<{ version: bigint; encoding: string; isStandby: bigint } & Record<(typeof NEVER_OFF)[number], string>>

/**
 * `migrate`: brings an older ledger to this version; absent: an older ledger is refused. `isNode`: a running node also opens a newer ledger, since a migration keeps what
 * running nodes use.
 */
type Opening = Readonly<{ migrate?: (() => DatabaseProblem | undefined) | undefined; isNode?: boolean }>

/**
 * Undefined: the connection's database is a ledger of this version, made or migrated where that is allowed. `place`: the place in words for people. Throws what the
 * connection throws.
 */
export function openPostgres(
  db: Runs,
  place: string,
  access: Access,
  { migrate, isNode = false }: Opening = {},
): DatabaseProblem | undefined {
  const problem = problemOfServer(db, access)
  if (problem !== undefined) return { problem: 'unwritable', message: `${place}: ${problem}` }
  const found = findLedger(db)
  if (found.kind === 'none') {
    if (access !== 'create') return { problem: 'missing', message: `there is no ledger at ${place}` }
    if (!mayCreate(db)) return { problem: 'unwritable', message: `${place}: the role may not make the schema "ledger" or tables in it` }
    makeTables(db)
  }
  const refused = refuse(db, place, isNode)
  const isDue = refused?.problem === 'unmigrated' && migrate !== undefined
  // The ledger is checked again after a migration, because another node with a newer program may have been faster.
  const left = isDue ? (migrate() ?? refuse(db, place, isNode)) : refused
  return left ?? (access === 'read' ? undefined : problemOfRole(db, place))
}

function problemOfServer(db: Runs, access: Access): string | undefined {
  const server = db
    .query<Server, []>(
      `SELECT CAST(current_setting('server_version_num') AS BIGINT) / 10000 AS version, pg_is_in_recovery() AS "isStandby",
         current_setting('server_encoding') AS encoding, ${NEVER_OFF.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`,
    )
    .get()
  if (server === null) throw new Error('Postgres says nothing of itself')
  if (server.version < SERVER_VERSIONS.min) return `it is Postgres ${server.version}; a ledger needs ${SERVER_VERSIONS.min} or newer`
  if (server.encoding !== 'UTF8') return `its encoding is ${server.encoding}, not UTF8`
  if (access === 'read') return undefined
  if (server.isStandby === 1n) return 'it is a standby, which takes no writes'
  const off = NEVER_OFF.find((name) => server[name] === 'off')
  return off === undefined ? undefined : `${off} is off: what is charged could be lost when the server stops; turn it on`
}

function refuse(db: Runs, place: string, isNode: boolean): DatabaseProblem | undefined {
  const found = findLedger(db)
  switch (found.kind) {
    case 'none':
      return undefined
    case 'foreign':
      return {
        problem: 'corrupt',
        message: `${place}: its schema "ledger" is not a Tollgate ledger; it was left as it is: name another database`,
      }
    case 'ledger':
      return refuseVersion(place, found.version, isNode)
  }
}

function refuseVersion(place: string, version: number, isNode: boolean): DatabaseProblem | undefined {
  const problem = versionProblem(place, MIGRATIONS, version, 'name another database')
  return problem?.problem === 'newer' && isNode ? undefined : problem
}

const mayCreate = (db: Runs): boolean =>
  db
    .query<{ may: bigint }, []>(
      `SELECT coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'ledger'),
         has_database_privilege(current_database(), 'CREATE')) AS may`,
    )
    .get()?.may === 1n

/** The problem of a role that lacks a privilege. The role need not own the tables. */
function problemOfRole(db: Runs, place: string): DatabaseProblem | undefined {
  const lacking = db
    .query<{ name: string }, []>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'ledger') AND relkind = 'r'
         AND NOT has_table_privilege(oid, 'INSERT') ORDER BY relname LIMIT 1`,
    )
    .get()
  return lacking === null
    ? undefined
    : { problem: 'unwritable', message: `${place}: the role may not write the table ledger.${lacking.name}` }
}
