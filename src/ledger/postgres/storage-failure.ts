/**
 * Which errors of Postgres are the storage's, and which are of what was written, by SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 * Rules: ledger.md "Failing writes", "Two stores".
 */

import type { LedgerFault } from '../task.ts'

export class PostgresError extends Error {
  override readonly name = 'PostgresError'
  /** Five characters. */
  readonly sqlState: string
  /** The rule that was broken, by its name; '' where there is none. */
  readonly constraint: string
  /** It may have been done all the same: no answer came. */
  readonly isIndeterminate: boolean

  constructor(
    sqlState: string,
    message: string,
    { constraint = '', isIndeterminate = false }: { constraint?: string | undefined; isIndeterminate?: boolean } = {},
  ) {
    super(message)
    this.sqlState = sqlState
    this.constraint = constraint
    this.isIndeterminate = isIndeterminate
  }
}

/** Data, integrity (our triggers' among them), cardinality, syntax and names, and what a function raised: the statement or its values cause them. */
const RULE_CLASSES = new Set(['21', '22', '23', '42', 'P0'])
/** Of these, what an operator or another program did to the database: no privilege; a table, or a function, that is not there, as while it is restored. */
const DONE_TO_IT = new Set(['42501', '42P01', '42883'])
const FENCED = 'TG001'
const LOCK_NOT_AVAILABLE = '55P03'
const CONFLICTS = new Set(['40001', '40P01'])

export const isStorageFailure = (error: unknown): error is PostgresError =>
  error instanceof PostgresError && (!RULE_CLASSES.has(error.sqlState.slice(0, 2)) || DONE_TO_IT.has(error.sqlState))

/** A deadlock, or what another transaction did meanwhile: nothing was done, and the same may be tried again at once. A storage failure as well. */
export const isConflict = (error: unknown): boolean => error instanceof PostgresError && CONFLICTS.has(error.sqlState)

/** Another transaction kept a row locked for longer than the limit. A storage failure as well. */
export const isHeld = (error: unknown): boolean => error instanceof PostgresError && error.sqlState === LOCK_NOT_AVAILABLE

/** What assert_node says (db/postgres/migrations/0002_nodes.sql): another node took the lane over. A storage failure as well. */
export const isFenced = (error: unknown): boolean => error instanceof PostgresError && error.sqlState === FENCED

/** Postgres' words name tables, rules and roles; values stand in its details, which are left out. */
export const describeFailure = ({ sqlState, message }: PostgresError): string => `${sqlState} ${message}`

export const faultOf = (what: string, error: unknown): LedgerFault =>
  error instanceof PostgresError
    ? { problem: `${what}: ${describeFailure(error)}` }
    : { problem: `${what}: it failed by a bug`, bug: error }
