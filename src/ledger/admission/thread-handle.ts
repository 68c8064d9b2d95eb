/** The ledger thread as the gateway holds it: a Worker that was told to open the file, and what is heard of it. */

import { placeText, type WritablePlace } from '../place.ts'
import type { Committed, FromThread, LedgerFault, Loss, Opened, OpenProblem, TellMigration, ToThread } from '../task.ts'

export type ThreadOptions = Readonly<{
  /** As it is when a thread opens it. */
  place: () => WritablePlace
  bootId: string
  startThread: () => Worker
  now: () => number
  /** How long a failing commit is tried again before its tasks are answered `unavailable`. */
  retryMs: number
  /** Room for what is settled while the ledger cannot be written; 0: none is kept. */
  spillBytes: number
  onFault: (fault: LedgerFault) => void
  /** Is told of each step by which an older ledger is brought to this version; absent: it is refused. */
  onMigration?: TellMigration
  /** Told of each step of the opening, so that one that takes long is not taken for one that hangs. */
  onStep?: (step: string) => void
  /** Of a file, as it is when a thread opens it: relays live that have requests in flight. */
  keepsInFlight?: () => boolean
}>

export type ThreadHandle = Readonly<{
  /** When the file is open, or why it is not. */
  opened: Promise<Opened | OpenProblem>
  post(message: ToThread): void
  terminate(): void
}>

export type ThreadListener = Readonly<{
  onCommitted(committed: Committed): void
  /** The files at the path are not those that are open any more, and why; undefined: they are again. */
  onLost(loss: Loss | undefined): void
  onWalCheckpointDue(): void
  onClosed(): void
  /** The thread ended, for whatever reason. */
  onEnd(): void
  /** Of a file whose writer has relays. */
  onRelay?(message: RelayMessage): void
}>

export type RelayMessage = Extract<FromThread, { kind: 'relayJoined' | 'relayGone' }>

/** Begins what writes, or finds it: a thread of this process, or a process elsewhere. */
export type Enter = (listener: ThreadListener) => ThreadHandle

/** `writes`: what `enter` finds, in the operator's words; default: the ledger thread. `sendsMax`: how many of these may die with a task before it is given up. */
export type WriterOptions = Pick<ThreadOptions, 'onFault'> & Readonly<{ enter: Enter; writes?: string; sendsMax?: number }>

export function enterThread(options: ThreadOptions, listener: ThreadListener): ThreadHandle {
  const { bootId, retryMs, spillBytes, now, startThread, onFault, onMigration, onStep, keepsInFlight = () => false } = options
  const { promise: opened, resolve } = Promise.withResolvers<Opened | OpenProblem>()
  const place = options.place()
  const worker = startThread()
  worker.addEventListener('message', (event: MessageEvent<FromThread>) => {
    const message = event.data
    switch (message.kind) {
      case 'opened':
        return resolve({ recovered: message.recovered, wasLeftOpen: message.wasLeftOpen, replayed: message.replayed })
      case 'problem':
        return resolve(message.problem)
      case 'migrating':
        return onMigration?.({ notice: message.notice, fields: message.fields })
      case 'opening':
        return onStep?.(message.step)
      case 'committed':
        return listener.onCommitted(message)
      case 'lost':
        return listener.onLost(message.loss)
      case 'walCheckpointDue':
        return listener.onWalCheckpointDue()
      case 'walCheckpointed':
      case 'checked':
        return
      case 'fault':
        return onFault(message.fault)
      case 'relayJoined':
      case 'relayGone':
        return listener.onRelay?.(message)
      case 'closed':
        return listener.onClosed()
    }
  })
  // The event has only words, which may quote what was written: the thread tells its own bugs, and this is for what it could not.
  worker.addEventListener('error', () => onFault({ problem: 'ledger thread: it failed' }))
  worker.addEventListener('close', () => {
    resolve({ problem: 'unwritable', message: `${placeText(place)}: the ledger thread ended while it opened it` })
    listener.onEnd()
  })
  // Only values that structured clone copies: no functions, no classes of ours.
  const post = (message: ToThread): void => worker.postMessage(message)
  const migrates = onMigration !== undefined
  post({ kind: 'open', place, bootId, now: now(), retryMs, spillBytes, migrates, ...(keepsInFlight() ? { keepsInFlight: true } : {}) })
  return { opened, post, terminate: () => worker.terminate() }
}
