/** Which errors of a write are the storage's, and which are of what was written. Rules: ledger.md "Failing writes". */

import { SQLiteError } from 'bun:sqlite'
import type { LedgerFault } from '../task.ts'

/** SQLite's results that a statement or its values cause; every other one is the storage's. */
const RULE_CODES = new Set([1, 18, 19, 20, 21, 25]) // ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE

export const isStorageFailure = (error: unknown): error is SQLiteError =>
  error instanceof SQLiteError && !RULE_CODES.has(error.errno & 0xff)

/** SQLite's words name tables, rules and files; values are bound and never in them. */
export const describeFailure = ({ code = '', message }: SQLiteError): string => `${code} ${message}`

export const faultOf = (what: string, error: unknown): LedgerFault =>
  error instanceof SQLiteError ? { problem: `${what}: ${describeFailure(error)}` } : { problem: `${what}: it failed by a bug`, bug: error }
