/** The other side of the deadlock in connection.test.ts: a Worker that takes row 2, then row 1. So a connection also works on a thread that is not the first. */

import { parentPort } from 'node:worker_threads'
import { isConflict } from '../../../src/ledger/postgres/storage-failure.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'

parentPort?.once('message', (url: string) => {
  const db = connectPostgres(url)
  try {
    db.transaction(() => {
      for (const n of [2, 1]) db.query('UPDATE a SET t = ? WHERE n = ?').run('second', n)
    })()
    parentPort?.postMessage('done')
  } catch (error) {
    parentPort?.postMessage(isConflict(error) ? 'conflict' : String(error))
  }
  db.close()
})

// Whoever waits for it stands still, and a Worker may need its maker's thread to begin.
parentPort?.postMessage('ready')
