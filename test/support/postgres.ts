/** The Postgres of the tests: one server a test process, with a fresh database a test. */

import { describe, test } from 'bun:test'
import { join } from 'node:path'
import { PLACE } from './postgres-cluster.ts'
import { findPostgres, type Postgres, startPostgres } from './postgres-server.ts'

async function startOnce(): Promise<Postgres | undefined> {
  try {
    // The files of one process may have modules of their own each: they find the server by its folder.
    const folder = join(PLACE, `tollgate-postgres-of-${process.pid}`)
    return (await findPostgres(folder)) ?? (await startPostgres(folder))
  } catch (error) {
    if (process.env['TOLLGATE_TEST_POSTGRES'] === 'required') throw error
    console.warn(`\n*** SKIPPED: every test on Postgres, because it does not start here: ${String(error)}\n`)
    return undefined
  }
}

/** Undefined where it cannot start, which is said; there, `TOLLGATE_TEST_POSTGRES=required` fails instead. */
const running: Postgres | undefined = await startOnce()

export const isPostgresRunning = running !== undefined

/** A test that needs Postgres. */
export const postgresTest = test.skipIf(!isPostgresRunning)

/** Tests that need Postgres. */
export const postgresSuite = describe.skipIf(running === undefined)

/** The server of this process: for what runs in a `postgresTest`. */
export function postgres(): Postgres {
  if (running === undefined) throw new Error('there is no Postgres for tests')
  return running
}
