/** The ledger thread as the gateway holds it: a Worker that was told to open the file, and what is heard of it. */

import type { Committed, FromThread, OpenProblem, ToThread } from './task.ts'

export type ThreadOptions = Readonly<{
  path: string
  create: boolean
  bootId: string
  startThread: () => Worker
  now: () => number
  /** How long a failing commit is tried again before its tasks are answered `unavailable`. */
  retryMs: number
  /** Words for the operator's log: a bug that the database caught, a commit that failed, a thread that died. */
  onFault: (problem: string) => void
}>

export type ThreadHandle = Readonly<{
  /** When the file is open, or why it is not. */
  opened: Promise<Readonly<{ recovered: number }> | OpenProblem>
  post(message: ToThread): void
  terminate(): void
}>

export type ThreadListener = Readonly<{
  onCommitted(committed: Committed): void
  onClosed(): void
  /** The thread ended, whoever ended it. */
  onEnd(): void
}>

export function enterThread(options: ThreadOptions, create: boolean, listener: ThreadListener): ThreadHandle {
  const { path, bootId, retryMs, now, startThread, onFault } = options
  const { promise: opened, resolve } = Promise.withResolvers<Readonly<{ recovered: number }> | OpenProblem>()
  const worker = startThread()
  let lastError = ''
  worker.addEventListener('message', (event: MessageEvent<FromThread>) => {
    const message = event.data
    switch (message.kind) {
      case 'opened':
        return resolve({ recovered: message.recovered })
      case 'problem':
        return resolve(message.problem)
      case 'committed':
        return listener.onCommitted(message)
      case 'closed':
        return listener.onClosed()
    }
  })
  worker.addEventListener('error', (event) => {
    lastError = event.message
    onFault(`ledger thread: ${event.message}`)
  })
  worker.addEventListener('close', () => {
    resolve({ problem: 'unwritable', message: `${path}: the ledger thread ended while it opened the file ${lastError}` })
    listener.onEnd()
  })
  // Only values that structured clone copies: no functions, no classes of ours.
  const post = (message: ToThread): void => worker.postMessage(message)
  post({ kind: 'open', path, create, bootId, now: now(), retryMs })
  return { opened, post, terminate: () => worker.terminate() }
}
