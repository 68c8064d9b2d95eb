/**
 * Checks that the server at a ledger's address gives each connection a session of its own: two open connections never share a process of the server, and each keeps its
 * process. A pooler that lends processes for a transaction or a statement is found before anything is made. Rules: nodes.md "Poolers".
 */

import { type PostgresPlace, placeText } from '../place.ts'
import type { OpenProblem } from '../thread-messages.ts'
import { Session, SessionFailure } from './session.ts'

const LOOKS = 2

/** The problem with the sessions; also the problem if the server cannot be reached. `limitMs`: the limit of one look. */
export async function problemOfSessions(place: PostgresPlace, limitMs: number): Promise<OpenProblem | undefined> {
  const sessions = ['opens', 'looks'].map((what) => new Session({ url: place.url, name: `tollgate ${place.node} ${what}`, limitMs }))
  try {
    const seen = sessions.map(() => new Set<number>())
    for (let look = 0; look < LOOKS; look++) {
      for (const [index, session] of sessions.entries()) {
        const [row] = await session.ask<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        if (row !== undefined) seen[index]?.add(row.pid)
      }
    }
    const processes = new Set(seen.flatMap((pids) => [...pids]))
    return processes.size === sessions.length && seen.every(({ size }) => size === 1)
      ? undefined
      : { problem: 'unwritable', message: `${placeText(place)}: ${LENT}` }
  } catch (error) {
    if (!(error instanceof SessionFailure)) throw error
    return { problem: 'unwritable', message: `${placeText(place)} cannot be opened (${error.message})` }
  } finally {
    for (const session of sessions) session.close()
  }
}

const LENT =
  'a pooler lends its connections for a transaction, and a ledger needs them for as long as it is open; set pool_mode of PgBouncer to session, or connect to Postgres itself'
