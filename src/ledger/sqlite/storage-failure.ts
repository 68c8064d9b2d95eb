/** Tells which errors of a write the storage causes, and which are caused by what was written. Rules: ledger.md "Failing writes". */

import { SQLiteError } from 'bun:sqlite'
import type { LedgerFault } from '../thread-messages.ts'

/** SQLite's result codes that a statement or its values cause; the storage causes every other one. */
const RULE_CODES = new Set([1, 18, 19, 20, 21, 25]) // ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE, RANGE

export const isStorageFailure = (error: unknown): error is SQLiteError =>
  error instanceof SQLiteError && !RULE_CODES.has(error.errno & 0xff)

/** SQLite's message names tables, constraints and files; values are bound and never in it. */
export const describeFailure = ({ code = '', message }: SQLiteError): string => `${code} ${message}`

export const faultOf = (what: string, error: unknown): LedgerFault =>
  error instanceof SQLiteError ? { problem: `${what}: ${describeFailure(error)}` } : { problem: `${what}: it failed by a bug`, bug: error }
