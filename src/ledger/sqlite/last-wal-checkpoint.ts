/**
 * Keeps SQLite from moving the log into the file when the last connection closes, which no setting prevents from here. SQLite needs the whole range of the file's locks for
 * that. A read lock that belongs to an open handle, and that no closing connection of this process drops, prevents it until the handle is closed.
 * Source: sqlite.org "File Locking And Concurrency". Rules: ledger.md "A ledger that is overwritten".
 */

import { lockForReading } from './open-file-lock.ts'

const SHARED = { first: 0x4000_0002n, bytes: 510n }

/** The lock lasts for as long as `handle` is open. Only Linux has such a lock; on other systems the log is moved into the file. */
export const keepFromLastCheckpoint = (handle: number): void => lockForReading(handle, SHARED)
