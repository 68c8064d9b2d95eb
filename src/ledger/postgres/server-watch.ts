/** Notices when the server is another one than at the last renewal, also while no task asks for a write. Rules: nodes.md "After a failover". */

import { isNotSaid, isOtherServer, SERVER_NAME } from './server-name.ts'
import { SessionFailure } from './session.ts'

export type ServerWatchOptions = Readonly<{
  session: Readonly<{ ask<Row>(text: string): Promise<readonly Row[]> }>
  /** With the first look that meets another server, and with those of the minute after it. */
  onOther: (isNew: boolean) => void
  /** Milliseconds that never jump. */
  monotonicMs?: () => number
}>

/** A node that died with the old server is fenced within it, and what waits for another node is written. */
const AFTERWARDS_MS = 60_000

export class ServerWatch {
  readonly #options: ServerWatchOptions
  readonly #monotonicMs: () => number
  #name = ''
  /** It keeps its name to itself: asked again and again it would log as many errors. */
  #isMute = false
  #otherSinceMs = Number.NEGATIVE_INFINITY

  constructor(options: ServerWatchOptions) {
    this.#options = options
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
  }

  /** Less than a minute ago it was another server. */
  get isRecent(): boolean {
    return this.#monotonicMs() - this.#otherSinceMs < AFTERWARDS_MS
  }

  /** What Postgres does not answer is asked again with the next renewal. */
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
