/** How many requests of each key run now. It is counted anew at most twice a second, however many pages ask. */

import type { Ledger } from '../../ledger/ledger.ts'

const COUNTED_EVERY_MS = 500

/** By account, by key. */
type Counts = ReadonlyMap<string, ReadonlyMap<string, number>>

export type Running = Readonly<{ ofAccount(accountId: string): ReadonlyMap<string, number> }>

export function runningOf(ledger: Ledger, monotonicMs: () => number): Running {
  let counted: Counts = new Map()
  let countedAt = Number.NEGATIVE_INFINITY
  return {
    ofAccount(accountId) {
      if (monotonicMs() - countedAt >= COUNTED_EVERY_MS) {
        counted = countsOf(ledger)
        countedAt = monotonicMs()
      }
      return counted.get(accountId) ?? NOTHING
    },
  }
}

const NOTHING: ReadonlyMap<string, number> = new Map()

function countsOf(ledger: Ledger): Counts {
  const counts = new Map<string, Map<string, number>>()
  for (const { accountId, keyId } of ledger.holds()) {
    const ofAccount = counts.get(accountId) ?? new Map<string, number>()
    ofAccount.set(keyId, (ofAccount.get(keyId) ?? 0) + 1)
    counts.set(accountId, ofAccount)
  }
  return counts
}
