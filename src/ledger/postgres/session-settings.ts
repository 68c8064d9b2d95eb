/** The settings of a synchronous connection's session. Rules: ledger.md "Two stores". */

import type { Settings } from '../../../db/postgres/connection-pool.ts'

type Session = Readonly<{ access: 'read' | 'write'; timeoutMs: number; lockMs?: number }>

const CHECKED_EVERY_MS = 1_000

/** By the names of Postgres, times in ms: https://www.postgresql.org/docs/current/runtime-config-client.html */
export const settingsOf = ({ access, timeoutMs, lockMs = timeoutMs }: Session): Settings => ({
  search_path: 'ledger',
  // A merge join walks an index of all keys where a question is of a few.
  ...(access === 'read' ? { enable_mergejoin: 'off' } : {}),
  TimeZone: 'UTC',
  // How Postgres spells a rule or a view, and how it reads a pattern with a backslash, are not to depend on what the server's other databases need.
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: access === 'read' ? 'on' : 'off',
  statement_timeout: `${timeoutMs}`,
  lock_timeout: `${lockMs}`,
  idle_in_transaction_session_timeout: `${2 * timeoutMs}`,
  // A server that does not notice that its client is gone would keep its locks.
  client_connection_check_interval: `${CHECKED_EVERY_MS}`,
})
