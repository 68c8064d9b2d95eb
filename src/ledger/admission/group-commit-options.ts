/** The options of the ledger's port, the same for either store and for whatever carries the tasks to it. Rules: ledger.md "Wallets", "Group commit". */

import type { Committed } from '../thread-messages.ts'
import type { Away } from './away-ends.ts'
import type { MakeSupervisor } from './store-supervisor.ts'
import type { Enter, ThreadOptions } from './thread-handle.ts'
import type { BudgetsOfPlan } from './wallet-budgets.ts'

export type GroupCommitOptions = Pick<ThreadOptions, 'now' | 'onFault'> &
  Readonly<{
    enter: Enter
    /** The name, in the operator's words, of what `enter` finds; default: the ledger thread. */
    writes?: string
    /** What the operator is told when that is lost. */
    lost?: string
    /** How many threads may die with a task before the task is given up; default: three. */
    sendsMax?: number
    /** Keeps ends of requests while `enter` finds nothing; default: they wait. */
    away?: Away
    /** Whether other processes spend of the same balances. */
    isShared: boolean
    /** On a node: the number of the boot under which it admits at first. */
    boot?: number | undefined
    /** How old a request is when it leaves its first checkpoint on disk. */
    checkpointAfterMs: number
    /** On a shared ledger: how long a part of a lease may lie idle before it is given back. */
    leaseIdleMs: number
    /** Called with the thread's figures of its storage. */
    onStorage: (figures: StorageFigures) => void
    /** How many keys the memory knows beside those in use; absent: as many as a gateway needs. */
    walletsMax?: number
    /** The budgets that a plan has now; absent: no plan has any. */
    budgetsOf?: BudgetsOfPlan
    makeSupervisor: MakeSupervisor
  }>

/** `commitMs`: the time of the group's transaction up to its flush; `groupSize`: its tasks; both are absent when nothing was written. `spillBytes`: what the spill keeps now. */
type StorageFigures = Pick<Committed, 'commitMs' | 'groupSize' | 'spillBytes'>
