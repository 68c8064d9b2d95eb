/** Ends the session of a copy as soon as it has begun to write: the power goes in the middle. A Worker's own file. */

import { parentPort } from 'node:worker_threads'
import { SQL } from 'bun'

const sql = new SQL({ url: process.env['URL'] ?? '', max: 1 })
await sql`SELECT 1`
parentPort?.postMessage('ready')
for (;;) {
  const ended = await sql.unsafe(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate copy' AND query LIKE 'INSERT INTO ledger.%'",
  )
  if (ended.length > 0) break
  await Bun.sleep(1)
}
await sql.close()
