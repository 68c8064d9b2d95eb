/** One of those who open a database at the same time in open.test.ts: a Worker that is told the address. */

import { parentPort } from 'node:worker_threads'
import { openPostgres } from '../../../db/postgres/open.ts'
import type { Connection } from '../../../src/ledger/sql/connection.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

parentPort?.once('message', (url: string) => {
  const db: Connection = connectPostgres(url)
  try {
    parentPort?.postMessage(openPostgres(db, 'here', 'create')?.message ?? 'opened')
  } catch (error) {
    parentPort?.postMessage(String(error))
  }
  db.close()
})

// What is said to a Worker before it listens may be lost.
parentPort?.postMessage('ready')
