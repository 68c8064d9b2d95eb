/**
 * The figures that are not in memory: the day's money by the ledger's roll-ups, the write-ahead log, the disk. They are read every few seconds while there is a
 * viewer, one read at a time, and later snapshots do not wait for them. A figure that could not be read is null. Rules: pages.md "Now".
 */

import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Picos } from '../../core/money.ts'
import { sumSpend, wholeSpend } from '../../ledger/reading/spend.ts'
import type { Site } from '../site.ts'

export type Measures = Readonly<{
  walBytes: number | null
  disk: Readonly<{ freeBytes: number; totalBytes: number }> | null
  /** The sums of the UTC day over all accounts. */
  today: Readonly<{ requests: number; costPicos: Picos; waivedPicos: Picos; estimatedPicos: Picos }> | null
}>

export const NOT_MEASURED: Measures = { walBytes: null, disk: null, today: null }

const DAY_MS = 86_400_000

/** Reads all figures. Never rejects. */
export async function measure({ world, config }: Pick<Site, 'world' | 'config'>): Promise<Measures> {
  const path = config().ledger.path
  const [walBytes, disk, today] = await Promise.all([bytesOf(`${path}-wal`), diskOf(dirname(path)), todayOf(world)])
  return { walBytes, disk, today }
}

const bytesOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  )

const diskOf = (folder: string): Promise<Measures['disk']> =>
  statfs(folder).then(
    ({ bavail, blocks, bsize }) => ({ freeBytes: bavail * bsize, totalBytes: blocks * bsize }),
    () => null,
  )

async function todayOf({ reports, clock }: Site['world']): Promise<Measures['today']> {
  const rows = await wholeSpend(reports, 'console:now', { kind: 'usageOfDay', day: Math.floor(clock.now() / DAY_MS) })
  return Array.isArray(rows) ? sumSpend(rows) : null
}
