/** Whether the server has room for the connections of all processes, also while each is replaced by a new one. Rules: nodes.md "Connections". */

import { CONNECTIONS_MIN, connectionsNeeded } from '../../core/connections.ts'
import type { Connection } from '../sql/connection.ts'

/** `allowed`: how many connections this role may have on the server. `processes`: how many processes write now. `each`: the connections of one process. */
export type Room = Readonly<{ allowed: number; processes: number; each: number; needed: number }>

type Starting = Readonly<{ name?: string | null; count?: number }>

const ALLOWED = `SELECT least(
    CAST(current_setting('max_connections') AS BIGINT) - CAST(current_setting('superuser_reserved_connections') AS BIGINT)
      - coalesce(CAST(current_setting('reserved_connections', true) AS BIGINT), 0),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS allowed,
  (SELECT count(DISTINCT name) FROM (SELECT name FROM nodes WHERE lease_until >= clock_ms() UNION SELECT ?) AS names) AS processes`

/** The last parameter: the name of the node that is starting, and how many processes start. A name counts once, because two processes have it while one replaces the other. */
export function roomFor(db: Connection, each = CONNECTIONS_MIN, { name = null, count = 1 }: Starting = {}): Room {
  const found = db.query<{ allowed: bigint; processes: bigint }, [string | null]>(ALLOWED).get(name)
  if (found === null) throw new Error('Postgres says nothing of its connections')
  const processes = Math.max(count, Number(found.processes))
  return { allowed: Number(found.allowed), processes, each, needed: connectionsNeeded(processes, each) }
}

export const isRoomy = ({ allowed, needed }: Room): boolean => needed <= allowed

export const textOfRoom = ({ allowed, processes, each, needed }: Room): string =>
  `${processes} ${processes === 1 ? 'process' : 'processes'} of ${each} connections, and as many again during an upgrade: ${needed} of the ${allowed} that the server allows`
