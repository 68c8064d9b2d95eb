/** The settings of a synchronous connection's session. Rules: ledger.md "Two stores". */

import type { Settings } from '../../../db/postgres/connection-pool.ts'

type Session = Readonly<{ access: 'read' | 'write'; timeoutMs: number; lockMs?: number }>

const CHECKED_EVERY_MS = 1_000

/** The settings by Postgres' names, times in ms: https://www.postgresql.org/docs/current/runtime-config-client.html */
export const settingsOf = ({ access, timeoutMs, lockMs = timeoutMs }: Session): Settings => ({
  search_path: 'ledger',
  // A merge join would walk an index of all keys, even for a question about a few.
  ...(access === 'read' ? { enable_mergejoin: 'off' } : {}),
  TimeZone: 'UTC',
  // The server's other databases may need settings by which Postgres spells a constraint or a view, or reads a backslash, in another way: this session fixes them.
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: access === 'read' ? 'on' : 'off',
  statement_timeout: `${timeoutMs}`,
  lock_timeout: `${lockMs}`,
  idle_in_transaction_session_timeout: `${2 * timeoutMs}`,
  // Otherwise a server that does not notice that its client is gone would keep the locks of the session.
  client_connection_check_interval: `${CHECKED_EVERY_MS}`,
})
