/** Notices when the server is another one than at the last renewal, also while no task asks for a write. Rules: nodes.md "After a failover". */

import { isNotSaid, isOtherServer, SERVER_NAME } from './server-name.ts'
import { SessionFailure } from './session.ts'

export type ServerWatchOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string): Promise<readonly Row[]> }>
  /** Called by the first look that finds another server, and by each look in the minute after it. */
  onOther: (isNew: boolean) => void
  /** Milliseconds that never jump. */
  monotonicMs?: () => number
}>

/** How long a failover counts as recent: within this time a node that died with the old server is fenced, and writes that wait for another node are done. */
const AFTERWARDS_MS = 60_000

export class ServerWatch {
  readonly #options: ServerWatchOptions
  readonly #monotonicMs: () => number
  #name = ''
  /** Whether the server does not tell its name. It is not asked again, because it would log an error each time. */
  #isMute = false
  #otherSinceMs = Number.NEGATIVE_INFINITY

  constructor(options: ServerWatchOptions) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** Whether the server became another one less than a minute ago. */
  get isRecent(): boolean {
    return this.#monotonicMs() - this.#otherSinceMs < AFTERWARDS_MS
  }

  /** If Postgres does not answer, the next renewal looks again. */
  async look(): Promise<void> {
    if (this.#isMute) return
    const name = await this.#ask()
    const isNew = isOtherServer(this.#name, name)
    if (name !== '') this.#name = name
    if (isNew) this.#otherSinceMs = this.#monotonicMs()
    if (this.isRecent) this.#options.onOther(isNew)
  }

  async #ask(): Promise<string> {
    try {
      const [row] = await this.#options.session.ask<{ name: string }>(SERVER_NAME)
      return row?.name ?? ''
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error
      this.#isMute = isNotSaid(error.sqlState)
      return ''
    }
  }
}
