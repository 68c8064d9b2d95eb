/**
 * Moves the write-ahead log into the database from a thread and a connection of its own, so that no commit waits for it: SQLite's own checkpoint runs at the
 * end of whichever commit fills the log. Rules: SQLite's "Write-Ahead Logging" (a passive checkpoint waits for nobody and stops nobody).
 */

import { connect } from '../../../db/connection.ts'
import type { FromThread, ToThread } from '../task.ts'

/** A commit writes some eight pages, and a receipt a third of one: about four megabytes of log. */
const COMMITS_BETWEEN = 120
const SETTLES_BETWEEN = 3_000

/** The gateway's side. Its thread starts when it is first needed, which a command's ledger never does. */
export class Checkpointer {
  readonly #path: string
  readonly #startThread: () => Worker
  #worker: Worker | undefined
  #commits = 0
  #settles = 0
  #isRunning = false
  #closed: PromiseWithResolvers<void> | undefined

  constructor(path: string, startThread: () => Worker) {
    this.#path = path
    this.#startThread = startThread
  }

  noteCommit(settles: number): void {
    this.#commits++
    this.#settles += settles
    if (this.#isRunning || this.#closed !== undefined) return
    if (this.#commits < COMMITS_BETWEEN && this.#settles < SETTLES_BETWEEN) return
    this.#commits = this.#settles = 0
    this.#isRunning = true
    this.#post({ kind: 'checkpoint', path: this.#path })
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
      if (event.data.kind === 'checkpointed') this.#isRunning = false
      if (event.data.kind === 'closed') this.#closed?.resolve()
    })
    // Another is started when it is needed again; meanwhile the writer's own checkpoints bound the log.
    const forget = (): void => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#isRunning = false
      this.#closed?.resolve()
    }
    worker.addEventListener('error', forget)
    worker.addEventListener('close', forget)
    return worker
  }
}

/** The thread's side: a connection that is opened with the first checkpoint. */
export class CheckpointConnection {
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
