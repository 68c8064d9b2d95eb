/** Tells what the server promises, when a node starts and whenever the promise changes, such as when the last standby is gone. Rules: nodes.md "What Postgres promises". */

import { type PromiseFacts, promiseOf, type ServerPromise } from '../../core/server-promise.ts'
import { SessionFailure } from './session.ts'

/** `synchronous_commit` is the value with which sessions begin; the asking session may have another. `waitedFor`: null if the role may not see which standbys commits wait for. */
export const PROMISE_FACTS = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
  (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "standbyNames", count(*) AS standbys,
  CASE WHEN count(sync_state) = count(*) THEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END AS "waitedFor"
  FROM pg_stat_replication`

type PromiseWatchOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string): Promise<readonly Row[]> }>
  onPromise: (promise: ServerPromise) => void
  /** Milliseconds that never jump. */
  monotonicMs?: () => number
}>

const EVERY_MS = 30_000

export class PromiseWatch {
  readonly #options: PromiseWatchOptions
  readonly #monotonicMs: () => number
  #lookedMs = Number.NEGATIVE_INFINITY
  #promise: ServerPromise | undefined

  constructor(options: PromiseWatchOptions) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** The promise that was told last. */
  get promise(): ServerPromise | undefined {
    return this.#promise
  }

  /** To be called with every renewal; only some of the calls ask Postgres. If Postgres does not answer, the next call asks again. */
  async look(): Promise<void> {
    const nowMs = this.#monotonicMs()
    if (nowMs - this.#lookedMs < EVERY_MS) return
    try {
      const [facts] = await this.#options.session.ask<PromiseFacts>(PROMISE_FACTS)
      if (facts === undefined) return
      this.#lookedMs = nowMs
      const promise = promiseOf(facts)
      if (promise.text === this.#promise?.text) return
      this.#promise = promise
      this.#options.onPromise(promise)
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
    }
  }
}
