/** Synchronous connections to a Postgres of the tests. */

import { PostgresConnection, type PostgresOptions } from '../../src/ledger/postgres/connection.ts'

const startWire = (): Worker => new Worker(new URL('../../src/ledger/postgres/wire.ts', import.meta.url))

export function connectPostgres(url: string, options: Partial<PostgresOptions> = {}): PostgresConnection {
  return new PostgresConnection({ access: 'write', startWire, timeoutMs: 5_000, name: 'tollgate test', ...options, url })
}
