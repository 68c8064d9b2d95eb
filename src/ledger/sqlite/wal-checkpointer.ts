/**
 * Moves the write-ahead log into the database from a thread and a connection of its own, so that no commit waits for it. SQLite's own, at the
 * end of whichever commit fills the log, are turned off: a file that changes without a checkpoint of ours was changed by another program. Rules: SQLite's "Write-Ahead Logging" (a passive checkpoint neither waits for other connections nor stops them).
 */

import { connect } from '../../../db/connection.ts'
import type { FromThread, ToThread } from '../task.ts'

/** The gateway's side. Its thread starts when it is first needed, which a command's ledger never does. */
export class WalCheckpointer {
  readonly #path: string
  readonly #startThread: () => Worker
  readonly #onDone: () => void
  #worker: Worker | undefined
  #isRunning = false
  #closed: PromiseWithResolvers<void> | undefined

  /** `onDone`: after each run, whatever came of it. */
  constructor(path: string, startThread: () => Worker, onDone: () => void) {
    this.#path = path
    this.#startThread = startThread
    this.#onDone = onDone
  }

  /** One that is asked for while another runs is done with that one. */
  run(): void {
    if (this.#isRunning || this.#closed !== undefined) return
    this.#isRunning = true
    this.#post({ kind: 'walCheckpoint', path: this.#path })
  }

  /** Resolves when its connection is closed. */
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
    // Another is started when it is needed again.
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

  /** What fails leaves a longer log, which the next one finds. */
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
