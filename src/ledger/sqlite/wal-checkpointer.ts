/**
 * Moves the write-ahead log into the database from a thread and a connection of its own, so that no commit waits for it but for the end of a long log. SQLite's automatic checkpoints, at
 * the end of the commit that fills the log, are off, so that a change of the file without a checkpoint of ours must come from another program.
 * Rules: SQLite's "Write-Ahead Logging" (a passive checkpoint neither waits for other connections nor stops them).
 */

import { connect } from '../../../db/connection.ts'
import type { FromThread, ToThread } from '../thread-messages.ts'

/** The gateway's side. Its thread starts when it is first needed; a command's ledger never needs it. */
export class WalCheckpointer {
  readonly #path: string
  readonly #startThread: () => Worker
  readonly #onDone: () => void
  #worker: Worker | undefined
  #isRunning = false
  #closed: PromiseWithResolvers<void> | undefined

  /** `onDone`: called after each run, also if it failed. */
  constructor(path: string, startThread: () => Worker, onDone: () => void) {
    this.#path = path
    this.#startThread = startThread
    this.#onDone = onDone
  }

  /** Asks for a checkpoint, unless one is running. */
  run(): void {
    if (this.#isRunning || this.#closed !== undefined) return
    this.#isRunning = true
    this.#post({ kind: 'walCheckpoint', path: this.#path })
  }

  /** Resolves when the thread's connection is closed. */
  async close(): Promise<void> {
    this.#closed = Promise.withResolvers()
    if (this.#worker === undefined) return
    this.#post({ kind: 'close' })
    await this.#closed.promise
    this.#worker?.terminate()
  }

  #post(message: ToThread): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(message)
  }

  #start(): Worker {
    const worker = this.#startThread()
    worker.addEventListener('message', (event: MessageEvent<FromThread>) => {
      if (event.data.kind === 'walCheckpointed') this.#end()
      if (event.data.kind === 'closed') this.#closed?.resolve()
    })
    // The next run starts another thread.
    const forget = (): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#end()
      this.#closed?.resolve()
    }
    worker.addEventListener('error', forget)
    worker.addEventListener('close', forget)
    return worker
  }

  #end(): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    this.#onDone()
  }
}

/** The thread's side: a connection that is opened with the first checkpoint. */
export class WalCheckpointConnection {
  #db: ReturnType<typeof connect> | undefined

  /** Runs a checkpoint. If it fails, the log stays longer, and the next checkpoint moves it. */
  run(path: string): void {
    try {
      this.#db ??= connect(path, { readwrite: true })
      this.#db.run('PRAGMA wal_checkpoint(PASSIVE)')
    } catch {
      this.close()
    }
  }

  close(): void {
    this.#db?.close()
    this.#db = undefined
  }
}
