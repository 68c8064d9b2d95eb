/** `kill -9` at random moments: what was acknowledged is there, what was not is whole or absent. `KILL_ROUNDS` sets how often. */

import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openReport } from '../../src/ledger/report.ts'
import { makePath, openTestLedger } from '../support/ledger.ts'
import { seeded } from '../support/seed.ts'

const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3)
const ACKNOWLEDGED_MIN = 20

test(
  'nothing acknowledged is lost and nothing is left half done, however often the process is killed',
  seeded(async (random) => {
    const path = makePath()
    const acknowledged: string[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      const hammer = join(import.meta.dir, '../support/ledger-hammer.ts')
      const seed = Math.floor(random() * 2 ** 31)
      const child = Bun.spawn([process.execPath, hammer, path, `boot_${round}`, String(seed)], { stderr: 'inherit' })
      const decoder = new TextDecoder()
      let text = ''
      let killing: ReturnType<typeof setTimeout> | undefined
      for await (const chunk of child.stdout) {
        text += decoder.decode(chunk)
        // So many acknowledgements prove that it runs; the moment after them is random.
        if (killing === undefined && text.split('\n').length > ACKNOWLEDGED_MIN)
          killing = setTimeout(() => child.kill('SIGKILL'), 20 + random() * 300)
      }
      await child.exited
      expect(child.signalCode).toBe('SIGKILL')
      // A line that was cut was not read by anybody.
      acknowledged.push(...text.split('\n').slice(0, -1))
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * ACKNOWLEDGED_MIN)

    const { ledger } = await openTestLedger({ path, bootId: 'after' })
    await ledger.close()
    const db = new Database(path, { readonly: true })
    const settled = new Set(
      db
        .query<{ request_id: string }, []>('SELECT request_id FROM receipts')
        .all()
        .map((row) => row.request_id),
    )
    expect(acknowledged.filter((requestId) => !settled.has(requestId))).toEqual([])
    expect(db.query("SELECT count(*) > 0 AS some FROM receipts WHERE outcome = 'recovered'").get()).toEqual({ some: 1 })
    expect(db.query("SELECT sum(cost_picos) AS charged FROM receipts WHERE outcome = 'recovered'").get()).toEqual({ charged: 0 })
    expect(db.query('SELECT count(*) AS n FROM marks').get()).toEqual({ n: 0 })
    expect(db.query('SELECT count(*) AS n FROM credits').get()).toEqual({ n: 1 })
    db.close()
    const report = openReport({ kind: 'sqlite', path })
    if ('problem' in report) throw new Error(report.message)
    expect(report.verify()).toEqual([])
    report.close()
  }),
  60_000 + ROUNDS * 10_000,
)
