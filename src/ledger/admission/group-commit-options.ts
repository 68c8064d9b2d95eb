/** What the ledger's port is made with, whichever store it is over and whatever carries its tasks there. Rules: ledger.md "Wallets", "Group commit". */

import type { Committed } from '../task.ts'
import type { MakeSupervisor } from './store-supervisor.ts'
import type { Enter, ThreadOptions } from './thread-handle.ts'

export type GroupCommitOptions = Pick<ThreadOptions, 'now' | 'onFault'> &
  Readonly<{
    enter: Enter
    /** What that finds, in the operator's words; default: a thread. */
    writes?: string
    /** How many of those may end with a task before it is given up; default: three. */
    sendsMax?: number
    /** Other processes spend of the same balances. */
    isShared: boolean
    /** Of a node: as which it admits at first. */
    boot?: number | undefined
    /** How old a request is when it leaves its first checkpoint on disk. */
    checkpointAfterMs: number
    /** Where the ledger is shared: the part of a lease that was idle for that long goes back. */
    leaseIdleMs: number
    /** Called with the thread's figures of its storage. */
    onStorage: (figures: StorageFigures) => void
    /** How many keys the memory knows beside those in use; absent: as many as a gateway needs. */
    walletsMax?: number
    makeSupervisor: MakeSupervisor
  }>

/** `commitMs`, `groupSize`: of a group's transaction, to its flush; absent where nothing was written. `spillBytes`: what the spill keeps now. */
type StorageFigures = Pick<Committed, 'commitMs' | 'groupSize' | 'spillBytes'>
