/** What a synchronous connection asks of its session. Rules: ledger.md "Two stores". */

type Session = Readonly<{ access: 'read' | 'write'; timeoutMs: number; lockMs?: number; name: string }>

const CHECKED_EVERY_MS = 1_000

/** By the names of Postgres, times in ms: https://www.postgresql.org/docs/current/runtime-config-client.html */
export const settingsOf = ({ access, timeoutMs, lockMs = timeoutMs, name }: Session): Readonly<Record<string, string>> => ({
  application_name: name,
  search_path: 'ledger',
  // A merge join walks an index of all keys where a question is of a few.
  ...(access === 'read' ? { enable_mergejoin: 'off' } : {}),
  TimeZone: 'UTC',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: access === 'read' ? 'on' : 'off',
  statement_timeout: `${timeoutMs}`,
  lock_timeout: `${lockMs}`,
  idle_in_transaction_session_timeout: `${2 * timeoutMs}`,
  // A server that does not see that nobody waits any more would keep its locks.
  client_connection_check_interval: `${CHECKED_EVERY_MS}`,
})
