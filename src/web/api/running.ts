/** The requests that run now, by account and key. They are counted at most twice a second, however many pages ask. */

import type { Hold } from '../../ledger/ledger.ts'
import type { Site } from '../site.ts'

const COUNTED_EVERY_MS = 500

export type Running = Readonly<{
  /** The number of running requests of each key. */
  ofAccount(accountId: string): ReadonlyMap<string, number>
  /** The holds of an account, oldest first. */
  holdsOf(accountId: string): readonly Hold[]
}>

export function runningOf({ moment, world }: Pick<Site, 'moment' | 'world'>): Running {
  const { monotonicMs } = world.clock
  let holds: ReadonlyMap<string, readonly Hold[]> = new Map()
  let countedAt = Number.NEGATIVE_INFINITY
  const holdsOf = (accountId: string): readonly Hold[] => {
    if (monotonicMs() - countedAt >= COUNTED_EVERY_MS) {
      holds = Map.groupBy(moment().holds, (hold) => hold.accountId)
      countedAt = monotonicMs()
    }
    return holds.get(accountId) ?? []
  }
  return {
    holdsOf,
    ofAccount(accountId) {
      const counts = new Map<string, number>()
      for (const { keyId } of holdsOf(accountId)) counts.set(keyId, (counts.get(keyId) ?? 0) + 1)
      return counts
    },
  }
}
