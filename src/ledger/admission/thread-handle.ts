/** The ledger thread as the gateway holds it: a Worker that was told to open the file, and what is heard of it. */

import { placeText, type WritablePlace } from '../place.ts'
import type { Committed, FromThread, LedgerFault, Loss, Opened, OpenProblem, TellMigration, ToThread } from '../thread-messages.ts'
import type { Away } from './away-ends.ts'

export type ThreadOptions = Readonly<{
  /** Returns the place as it is at the moment; called whenever a thread opens the ledger. */
  place: () => WritablePlace
  bootId: string
  startThread: () => Worker
  now: () => number
  /** How long a failing commit is tried again before its tasks are answered `unavailable`. */
  retryMs: number
  /** The size of the spill; 0: there is no spill. */
  spillBytes: number
  onFault: (fault: LedgerFault) => void
  /** Told of each step by which an older ledger is brought to this version; absent: an older ledger is refused. */
  onMigration?: TellMigration
  /** Told of each step of the opening, so that a long opening is not mistaken for one that hangs. */
  onStep?: (step: string) => void
  /** On a file: whether relays that live may have requests in flight; called whenever a thread opens the ledger. */
  keepsInFlight?: () => boolean
}>

export type ThreadHandle = Readonly<{
  /** Resolves when the ledger is open, or with the reason why it is not. */
  opened: Promise<Opened | OpenProblem>
  post(message: ToThread): void
  terminate(): void
}>

export type ThreadListener = Readonly<{
  onCommitted(committed: Committed): void
  /** Called with the reason when the files at the path are no longer the open ones, and with undefined when they are again. */
  onLost(loss: Loss | undefined): void
  onWalCheckpointDue(): void
  onClosed(): void
  /** Called when the thread has ended, for whatever reason. */
  onEnd(): void
  /** Called only on a file whose writer has relays. */
  onRelay?(message: RelayMessage): void
}>

export type RelayMessage = Extract<FromThread, { kind: 'relayJoined' | 'relayGone' }>

/** Starts the thread of this process that writes, or connects to the process that does. */
export type Enter = (listener: ThreadListener) => ThreadHandle

/**
 * `writes`: what `enter` finds, in the operator's words; default: the ledger thread. `sendsMax`: how many of these may die with a task before the task is given up. `away`: keeps
 * ends of requests while none can be had; absent: they wait.
 */
export type WriterOptions = Pick<ThreadOptions, 'onFault'> &
  Readonly<{ enter: Enter; writes?: string; lost?: string; sendsMax?: number; away?: Away }>

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
  // The event's message is left out, because it may quote what was written. The thread reports its bugs itself; this is for a failure that it could not report.
  worker.addEventListener('error', () => onFault({ problem: 'ledger thread: it failed' }))
  worker.addEventListener('close', () => {
    resolve({ problem: 'unwritable', message: `${placeText(place)}: the ledger thread ended while it opened it` })
    listener.onEnd()
  })
  // A message holds only values that structured clone copies: no functions, and no classes of ours.
  const post = (message: ToThread): void => worker.postMessage(message)
  const migrates = onMigration !== undefined
  post({ kind: 'open', place, bootId, now: now(), retryMs, spillBytes, migrates, ...(keepsInFlight() ? { keepsInFlight: true } : {}) })
  return { opened, post, terminate: () => worker.terminate() }
}
