/** The requests that run now, by account and key. They are counted at most twice a second, and asked for as often, however many pages ask. */

import type { Hold } from '../../ledger/ledger.ts'
import { type HeldByKey, type HeldSum, heldIn, runningByKey } from '../../operator/held.ts'
import type { Site } from '../site.ts'

const COUNTED_EVERY_MS = 500
/** The most holds that are shown. */
const HOLDS_SHOWN = 50

export type Running = Readonly<{
  /** The number of running requests of each key. */
  ofAccount(accountId: string): ReadonlyMap<string, number>
  heldOf(accountId: string): HeldSum
  /** The oldest holds of an account. */
  oldestOf(accountId: string): Promise<readonly Hold[]>
}>

export function runningOf({ moment, holdsOf, world }: Pick<Site, 'moment' | 'holdsOf' | 'world'>): Running {
  const { monotonicMs } = world.clock
  let held: ReadonlyMap<string, HeldByKey> = new Map()
  let countedAt = Number.NEGATIVE_INFINITY
  const asked = new Map<string, Promise<readonly Hold[]>>()
  const heldBy = (accountId: string): HeldByKey => {
    if (monotonicMs() - countedAt >= COUNTED_EVERY_MS) {
      held = Map.groupBy(moment().held, ([account]) => account)
      asked.clear()
      countedAt = monotonicMs()
    }
    return held.get(accountId) ?? []
  }
  return {
    ofAccount: (accountId) => runningByKey(heldBy(accountId)),
    heldOf: (accountId) => heldIn(heldBy(accountId)),
    oldestOf(accountId) {
      if (heldBy(accountId).length === 0) return Promise.resolve([])
      const oldest = asked.get(accountId) ?? holdsOf(accountId, HOLDS_SHOWN)
      asked.set(accountId, oldest)
      return oldest
    },
  }
}
