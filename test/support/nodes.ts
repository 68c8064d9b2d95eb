/** Nodes of a ledger as objects, on a database of their own, with what they told. */

import { SQL } from 'bun'
import { openPostgres } from '../../db/postgres/open.ts'
import type { NodeIdentity } from '../../src/ledger/nodes.ts'
import { LedgerNode, type NodeOptions } from '../../src/ledger/postgres/node-lease.ts'
import { Session } from '../../src/ledger/postgres/session.ts'
import { postgres } from './postgres.ts'
import { connectPostgres } from './postgres-connection.ts'

export type Told = { fenced: number; left: number; joined: NodeIdentity[]; skews: number[]; bugs: unknown[] }
export type TestNode = Readonly<{ node: LedgerNode; told: Told; session: Session; close: () => Promise<void> }>

/** A node that renews, with a term that a test can wait for. */
export function makeNode(url: string, options: Partial<NodeOptions> & Readonly<{ limitMs?: number }> = {}): TestNode {
  const session = new Session({ url, name: 'node', limitMs: options.limitMs ?? 500 })
  const told: Told = { fenced: 0, left: 0, joined: [], skews: [], bugs: [] }
  const node = new LedgerNode(
    { session, name: 'n', termMs: 600, bootId: () => Bun.randomUUIDv7(), mayRenew: () => true, ...options },
    {
      onFenced: () => void told.fenced++,
      onJoined: (identity) => void told.joined.push(identity),
      onLeft: () => void told.left++,
      onSkew: (skewMs) => void told.skews.push(skewMs),
      onBug: (bug) => void told.bugs.push(bug),
    },
  )
  return { node, told, session, close: () => node.leave() }
}

/** Statements from outside of any node. Integers are bigints. */
export function asking(url: string): {
  ask: <Row>(text: string, values?: readonly unknown[]) => Promise<Row[]>
  close: () => Promise<void>
} {
  const sql = new SQL({ url, max: 2, bigint: true, connection: { search_path: 'ledger' } })
  return { ask: async (text, values = []) => [...(await sql.unsafe(text, [...values]))], close: () => sql.close() }
}

export const throughPort = (url: string, port: number): string => {
  const address = new URL(url)
  address.port = `${port}`
  return address.href
}

/** The address of a ledger with nothing in it but account 1, which has key 1, and price 1. */
export async function freshLedger(): Promise<string> {
  const url = await postgres().createDatabase()
  const db = connectPostgres(url)
  const problem = openPostgres(db, 'here', 'create')
  if (problem !== undefined) throw new Error(problem.message)
  db.run(`INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', '', 0);
    INSERT INTO keys (id, account_number, name, plan, last_synced_at, created_at) VALUES ('key_1', 1, '', 'default', 0, 0);
    INSERT INTO models (id) VALUES ('m');
    INSERT INTO price_versions (model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
      server_tool_use_rate_picos) VALUES (1, 3, 15, 1, 4, 6, 0)`)
  db.close()
  return url
}

/** A request in flight of a boot. */
export const INSERT_CHECKPOINT = `INSERT INTO marks (request_id, key_number, price_number, boot_number, format, is_stream, hold_picos, started_at, marked_at, basis, input_tokens,
  output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses)
  VALUES ($1, 1, 1, $2, 'chat', 1, 100, 1, 2, 'none', 0, 0, 0, 0, 0, 0)`
