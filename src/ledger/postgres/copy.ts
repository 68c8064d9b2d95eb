/**
 * A ledger in a file becomes one on Postgres: every row keeps its number, and the chains become those of lane 0. The contents of both are counted and added up.
 * Rules: ledger.md "Copy".
 */

import type { Difference } from '../chain/difference.ts'
import type { Connection } from '../sql/connection.ts'
import { type CopiedTable, copyTable, tableFindings } from './copy-tables.ts'

const schema = 'ledger'

/** The tables in an order in which every row is inserted after the rows that it names. */
const TABLES: readonly CopiedTable[] = [
  { schema, name: 'boots', numbered: 'number' },
  // On Postgres the end of a chain is a row of its own.
  { schema, name: 'accounts', numbered: 'number', without: ['chain_count', 'chain_hash'] },
  { schema, name: 'keys', numbered: 'number' },
  { schema, name: 'key_secrets' },
  { schema, name: 'imported_keys' },
  { schema, name: 'models', numbered: 'number' },
  { schema, name: 'price_versions', numbered: 'number' },
  { schema, name: 'upstreams', numbered: 'number' },
  { schema, name: 'receipts', numbered: 'number' },
  { schema, name: 'attempts' },
  { schema, name: 'credits' },
  { schema, name: 'code_batches', numbered: 'number' },
  { schema, name: 'codes' },
  { schema, name: 'usage_daily' },
  { schema, name: 'usage_tags' },
  { schema, name: 'margin_daily' },
  { schema, name: 'spend_hours' },
  { schema, name: 'budgets' },
  { schema, name: 'key_hours' },
  { schema, name: 'account_hours' },
  { schema, name: 'idempotency' },
  { schema, name: 'audit_log' },
  { schema, name: 'api_tokens', numbered: 'number' },
  { schema, name: 'api_writes' },
]

/** Returns the number of rows by table. `from`: a ledger without a request in flight. `to`: the tables of a new ledger, inside the transaction that makes them. */
export function copyLedger(from: Connection, to: Connection): ReadonlyMap<string, number> {
  // The triggers would number the lines, which have their numbers already, and count the hours, which are copied, too.
  to.run('ALTER TABLE audit_log DISABLE TRIGGER audit_log_numbered')
  to.run('ALTER TABLE receipts DISABLE TRIGGER receipts_sum_hours')
  const copied = new Map(TABLES.map((table) => [table.name, copyTable(from, to, table)]))
  to.run('ALTER TABLE audit_log ENABLE TRIGGER audit_log_numbered')
  to.run('ALTER TABLE receipts ENABLE TRIGGER receipts_sum_hours')
  to.run("UPDATE meta SET value = (SELECT CAST(coalesce(max(id), 0) AS TEXT) FROM audit_log) WHERE name = 'audited'")
  for (const name of ['salt', 'hours_from', 'summed']) {
    const value = from.query<{ value: string }, [string]>('SELECT value FROM meta WHERE name = ?').get(name)?.value
    to.query('UPDATE meta SET value = ? WHERE name = ?').run(value ?? '', name)
  }
  copyHeads(from, to)
  return copied
}

function copyHeads(from: Connection, to: Connection): void {
  const insert = to.query('INSERT INTO chain_heads (account_number, lane, chain_count, chain_hash) VALUES (?, ?, ?, ?)')
  const heads = from.query<{ account: bigint; lane: bigint; count: bigint; hash: Uint8Array }, []>(
    'SELECT account_number AS account, lane, chain_count AS count, chain_hash AS hash FROM chain_heads',
  )
  for (const { account, lane, count, hash } of heads.all()) insert.run(account, lane, count, hash)
}

/** The differences between the file and Postgres. */
export const copyFindings = (from: Connection, to: Connection): readonly Difference[] =>
  TABLES.flatMap((table) => tableFindings(from, to, table))
