/**
 * Tells by SQLSTATE which errors of Postgres the storage causes, and which are caused by what was written (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 * Rules: ledger.md "Failing writes", "Two stores".
 */

import type { LedgerFault } from '../thread-messages.ts'

export class PostgresError extends Error {
  override readonly name = 'PostgresError'
  /** Five characters. */
  readonly sqlState: string
  /** The name of the constraint that was broken; '' if there is none. */
  readonly constraint: string
  /** Whether no answer came, so that the statement may have been done. */
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

/** The classes of errors that the statement or its values cause: data, integrity (our triggers' among them), cardinality, syntax and names, and what a function raised. */
const RULE_CLASSES = new Set(['21', '22', '23', '42', 'P0'])
/** Errors of these classes that are not the statement's fault, but of a changed database: no privilege; a missing table or function, as during a restore. */
const DONE_TO_IT = new Set(['42501', '42P01', '42883'])
const FENCED = 'TG001'
const LOCK_NOT_AVAILABLE = '55P03'
const CONFLICTS = new Set(['40001', '40P01'])

export const isStorageFailure = (error: unknown): error is PostgresError =>
  error instanceof PostgresError && (!RULE_CLASSES.has(error.sqlState.slice(0, 2)) || DONE_TO_IT.has(error.sqlState))

/** A deadlock or a conflict with another transaction: nothing was done, and the same may be tried again at once. It also counts as a storage failure. */
export const isConflict = (error: unknown): boolean => error instanceof PostgresError && CONFLICTS.has(error.sqlState)

/** Another transaction kept a row locked for longer than the limit. It also counts as a storage failure. */
export const isHeld = (error: unknown): boolean => error instanceof PostgresError && error.sqlState === LOCK_NOT_AVAILABLE

/** The error of assert_node (db/postgres/migrations/0002_nodes.sql): another node took over the lane. It also counts as a storage failure. */
export const isFenced = (error: unknown): boolean => error instanceof PostgresError && error.sqlState === FENCED

/** Postgres' message names tables, constraints and roles; values of rows stand only in its details, which are left out. */
export const describeFailure = ({ sqlState, message }: PostgresError): string => `${sqlState} ${message}`

export const faultOf = (what: string, error: unknown): LedgerFault =>
  error instanceof PostgresError
    ? { problem: `${what}: ${describeFailure(error)}` }
    : { problem: `${what}: it failed by a bug`, bug: error }
