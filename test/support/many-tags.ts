/** Sums by hour of as many tags of a key as there may be rows in no answer: they stand in the table alone, so they must be removed before the ledger is verified. */

import { Database } from 'bun:sqlite'

const HOUR_MS = 3_600_000

/** Does `work` while the key has these tags in the present hour. */
export async function withTags(ledgerPath: string, keyId: string, count: number, work: () => Promise<void>): Promise<void> {
  const db = new Database(ledgerPath, { strict: true })
  try {
    // The gateway may write in the same moment.
    db.run('PRAGMA busy_timeout = 10000')
    db.run(
      `INSERT INTO spend_hours WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count}) SELECT ${columnsOf(db, keyId)} FROM n`,
    )
    await work()
  } finally {
    db.run("DELETE FROM spend_hours WHERE tag LIKE 'many-%'")
    db.close()
  }
}

/** The columns of a sum by hour with a tag of the number `n`. */
function columnsOf(db: Database, keyId: string): string {
  const known: Record<string, string> = {
    key_number: `(SELECT number FROM keys WHERE id = '${keyId}')`,
    hour: String(Math.floor(Date.now() / HOUR_MS)),
    price_number: '(SELECT min(number) FROM price_versions)',
    format: "'chat'",
    outcome: "'complete'",
    tag: "'many-' || n.n",
    requests: '1',
  }
  const columns = db.query<{ name: string }, []>("SELECT name FROM pragma_table_info('spend_hours')").all()
  return columns.map(({ name }) => known[name] ?? '0').join(', ')
}
