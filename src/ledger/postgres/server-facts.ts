/** Facts that a Postgres server tells of itself and of the nodes that write into it. Rules: operator.md "Two ledgers". */

import { type PromiseFacts, promiseOf, type ServerPromise } from '../../core/server-promise.ts'
import type { Connection } from '../sql/connection.ts'
import { PROMISE_FACTS } from './promise-watch.ts'

/** Times are Unix milliseconds by the server's clock. `settings`: the settings that a ledger needs, each `on` or `off`. */
export type ServerFacts = Readonly<{
  version: string
  settings: Readonly<Record<'fsync' | 'full_page_writes' | 'synchronous_commit', string>>
  now: number
  promise: ServerPromise
  nodes: readonly Readonly<{ lane: number; name: string; startedAt: number; isLive: boolean }>[]
}>

export function serverFacts(db: Connection): ServerFacts {
  const server = db
    .query<{ version: string; fsync: string; full_page_writes: string; synchronous_commit: string; now: bigint }, []>(
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
         current_setting('synchronous_commit') AS synchronous_commit, clock_ms() AS now`,
    )
    .get()
  if (server === null) throw new Error('Postgres says nothing of itself')
  const { version, now, ...settings } = server
  const promised = db.query<PromiseFacts, []>(PROMISE_FACTS).get()
  if (promised === null) throw new Error('Postgres says nothing of its standbys')
  const nodes = db
    .query<{ lane: bigint; name: string; startedAt: bigint; until: bigint }, []>(
      'SELECT lane, name, started_at AS "startedAt", lease_until AS until FROM nodes WHERE lease_until > 0 ORDER BY lane',
    )
    .all()
  return {
    version,
    settings,
    now: Number(now),
    promise: promiseOf(promised),
    nodes: nodes.map(({ lane, name, startedAt, until }) => ({
      lane: Number(lane),
      name,
      startedAt: Number(startedAt),
      isLive: until > now,
    })),
  }
}
