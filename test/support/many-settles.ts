/** Receipts by the hundred, as one group writes them. */

import type { Task } from '../../src/ledger/task.ts'
import { holdRequest, type Machine, NOW, settlement, usd } from './ledger.ts'

let requests = 0

/** Of one key; each settles a second later than the one before. */
export function settleMany({ wallets, ledger, statesOf }: Machine, count: number, keyId = 'key_a'): void {
  for (const state of statesOf(keyId)) wallets.keys.load(state)
  const tasks: Task[] = []
  for (let n = 0; n < count; n++) {
    const requestId = `req_${++requests}`
    wallets.hold(holdRequest(requestId, keyId, usd('0.0001')), 0)
    const debit = wallets.settle(settlement(requestId, { input: 1 }, { now: NOW + 1_000 * requests }))
    if (debit === undefined) throw new Error('not held')
    wallets.settled(requestId)
    tasks.push({ kind: 'settle', debit })
  }
  ledger.define(wallets.prices)
  const applied = ledger.apply(tasks)
  if (applied.kind === 'failed') throw new Error(applied.problem)
}
