/** The commit loop over a store that does what the test says. */

import { join } from 'node:path'
import { picos, ZERO } from '../../src/core/money.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { LeaseAnswer, LeaseAsk } from '../../src/ledger/lease-move.ts'
import { type Answer, isRead, type Task } from '../../src/ledger/task.ts'
import type { Committed } from '../../src/ledger/thread-messages.ts'
import { CommitLoop } from '../../src/ledger/writing/commit-loop.ts'
import { Spill } from '../../src/ledger/writing/spill.ts'
import type { Store } from '../../src/ledger/writing/store.ts'
import { holdRequest, makeFolder, settlement, usd } from './ledger.ts'

export const GRANTED: LeaseAnswer = {
  verdict: 'granted',
  refusedBy: null,
  account: { backedPicos: ZERO, hasMore: false, isSmall: false },
  key: { backedPicos: ZERO, hasMore: false, isSmall: false },
  balancePicos: ZERO,
  spentPicos: ZERO,
}
export const ask: LeaseAsk = {
  number: 1,
  accountNumber: 1,
  accountRunsPicos: ZERO,
  keyNumber: 1,
  keyRunsPicos: ZERO,
  amountPicos: picos(1n),
}

export function makeLoop(retryMs = 0) {
  const wallets = new Wallets()
  const keyBalance = { limitPicos: null, spentPicos: ZERO, balancePicos: usd('10'), lastSyncedAt: 0, toppedUpAt: null }
  const names = { keyId: 'key_1', keyNumber: 1, accountId: 'acc_1', accountNumber: 1 }
  wallets.keys.load({ ...names, ...keyBalance, isActive: true, isAccountActive: true, plan: 'default', expiresAt: null })
  const settle = (requestId: string): Task => {
    wallets.hold(holdRequest(requestId, 'key_1', usd('0.001')), 0)
    const debit = wallets.settle(settlement(requestId))
    if (debit === undefined) throw new Error('not held')
    return { kind: 'settle', debit }
  }
  const state = {
    canApply: true,
    canRead: true,
    canReplay: true,
    isLocked: false,
    areRowsLocked: false,
    applies: 0,
    heldReplays: 0,
    failedReplays: 0,
    apart: [] as number[],
    done: [] as string[],
    booked: [] as string[],
  }
  const answerTo = ({ kind }: Task): Answer => (kind === 'ask' ? GRANTED : kind === 'settle' ? 'settled' : 'unavailable')
  const store: Store = {
    id: 'ledger',
    boot: 1,
    define: () => undefined,
    versionAt: (index) => {
      const version = wallets.prices[index]
      if (version === undefined) throw new Error('no such price')
      return version
    },
    apply: (tasks, unsettled = new Set()) => {
      state.apart = [...unsettled]
      state.applies++
      if (!state.canRead || (!state.canApply && !tasks.every(isRead))) return { kind: 'failed', problem: 'away' }
      if (state.areRowsLocked)
        return { kind: 'applied', answers: tasks.map(() => 'unavailable'), changes: [], faults: [], held: new Set(tasks) }
      state.done.push(...tasks.map(({ kind }) => kind))
      state.booked.push(...tasks.flatMap((task) => (task.kind === 'settle' ? [task.debit.requestId] : [])))
      return { kind: 'applied', answers: tasks.map(answerTo), changes: [], faults: [], held: new Set() }
    },
    recover: () => 0,
    replay: (frames) => {
      if (!state.canReplay) {
        state.failedReplays++
        return { kind: 'failed', problem: 'away' }
      }
      if (state.isLocked) {
        state.heldReplays++
        Bun.sleepSync(50)
        return { kind: 'failed', problem: 'locked', isHeld: true }
      }
      state.done.push('replay')
      const settled = frames.flatMap(({ debits }) => debits.map(({ requestId }) => requestId))
      state.booked.push(...settled)
      return { kind: 'replayed', settled, faults: [] }
    },
    tidy: () => undefined,
    rollUp: () => 'none',
    canWrite: () => true,
    close: () => undefined,
  }
  const spill = Spill.open(join(makeFolder(), 'ledger.db'), store, 64 * 1024)
  if ('problem' in spill) throw new Error(spill.message)
  const told: Committed[] = []
  const loop = new CommitLoop(store, spill, (committed) => told.push(committed), retryMs)
  const answers = () => told.flatMap(({ answers: some }) => some)
  const settled = () => told.flatMap(({ settled: some }) => [...some])
  return { loop, settle, state, told, answers, settled }
}
