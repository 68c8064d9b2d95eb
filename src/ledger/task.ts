/** What the ledger thread is asked and what it answers, as data that crosses threads. */

import type { KeyRecord } from '../core/key.ts'
import type { Usage } from '../core/usage.ts'
import type { HoldAnswer, HoldRequest, KeyBalance, KeyChange, Settlement } from './ledger.ts'
import type { Operation, OperationResult } from './operation.ts'

export type Task =
  | Readonly<{ kind: 'hold'; request: HoldRequest }>
  | Readonly<{ kind: 'mark'; requestId: string; usage: Usage; now: number }>
  | Readonly<{ kind: 'settle'; settlement: Settlement }>
  | Readonly<{ kind: 'void'; requestId: string }>
  | Readonly<{ kind: 'operate'; operation: Operation }>
  | Readonly<{ kind: 'findKey'; secretHash: Uint8Array }>
  | Readonly<{ kind: 'balanceOf'; keyId: string }>

type TaskKind = Task['kind']

/** The answer to each kind of task. */
export type Answers = {
  hold: HoldAnswer
  mark: 'marked' | 'unavailable'
  settle: 'settled' | 'already' | 'unavailable'
  void: 'voided' | 'already' | 'unavailable'
  operate: OperationResult
  findKey: KeyRecord | undefined | 'unavailable'
  balanceOf: KeyBalance | undefined | 'unavailable'
}

export type Answer = Answers[TaskKind]

export type ReadTask = Extract<Task, { kind: 'findKey' | 'balanceOf' }>
export type WriteTask = Exclude<Task, ReadTask>

export const isRead = (task: Task): task is ReadTask => task.kind === 'findKey' || task.kind === 'balanceOf'

/** What a task is answered when the storage fails. */
export const unavailable = (task: Task): Answer => (task.kind === 'operate' ? { result: 'unavailable' } : 'unavailable')

/** A task under the number by which its answer finds the way back. */
export type Numbered<T> = Readonly<{ number: number }> & T

export type ToThread =
  | Readonly<{ kind: 'open'; path: string; create: boolean; bootId: string; now: number; retryMs: number }>
  | Readonly<{ kind: 'tasks'; tasks: readonly Numbered<{ task: Task }>[] }>
  | Readonly<{ kind: 'close' }>

export type FromThread =
  | Readonly<{ kind: 'opened'; recovered: number }>
  | Readonly<{ kind: 'problem'; problem: OpenProblem }>
  | Committed
  | Readonly<{ kind: 'fault'; fault: LedgerFault }>
  | Readonly<{ kind: 'closed' }>

/** For the operator's log: a broken rule of the database, a failed commit, a thread that died. `bug`: what was thrown, where our code is to blame. */
export type LedgerFault = Readonly<{ problem: string; bug?: unknown }>

/** What came of some tasks. */
export type Committed = Readonly<{
  kind: 'committed'
  answers: readonly Numbered<{ answer: Answer }>[]
  changes: readonly KeyChange[]
  faults: readonly LedgerFault[]
  isWritable: boolean
}>

export type OpenProblem = Readonly<{ problem: 'missing' | 'locked' | 'newer' | 'corrupt' | 'unwritable'; message: string }>
