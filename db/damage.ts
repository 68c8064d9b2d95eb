/** Errors of a file beside the ledger that may be begun anew: a file that is wrong, or a disk that fails. Rules: architecture.md "Files beside the ledger". */

import { SQLiteError } from 'bun:sqlite'

/** Thrown where the file itself is wrong; other errors of SQLite are thrown as they are. */
export class NotOurs extends Error {}

/** SQLite's codes for a file that is damaged or no database, and for errors that a sound file of ours never gives: a missing table, a broken constraint. */
const DAMAGED = new Set([11, 26, 1, 19])

export const isDamage = (error: unknown): error is Error =>
  error instanceof NotOurs || (error instanceof SQLiteError && DAMAGED.has(error.errno & 0xff))

export const isOfTheDisk = (error: unknown): error is Error =>
  isDamage(error) || error instanceof SQLiteError || (error instanceof Error && 'syscall' in error)
