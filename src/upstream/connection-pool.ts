/** The idle connections of one upstream. Rules: faults.md "Upstream calls", "Connections". */

import { type Connection, openConnection, type Target } from './connection.ts'
import { TurnWrites } from './turn-writes.ts'
import type { Stop } from './upstream.ts'

export type PoolOptions = Readonly<{ target: Target; connectTimeoutMs: number; restSeconds?: number }>

/** Below the minute after which common servers and balancers close, so that we are the first to do it. */
const REST_SECONDS = 45
/** The most idle connections. After a crowd of streams the rest is closed, since each takes eight kilobytes. */
const RESTING_MAX = 500
/** Attempts to connect that were given up but that the kernel still makes, for two minutes where the address is silent. With so many of them no further one is begun. */
const LOST_MAX = 256

export class ConnectionPool {
  readonly #options: PoolOptions
  /** The one that rested least is used next: what is not needed can grow old and be closed. */
  readonly #resting: Connection[] = []
  readonly #writes = new TurnWrites()
  #lost = 0

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** A connection that was used before, and may have died since. */
  takeRested(): Connection | undefined {
    const connection = this.#resting.pop()
    connection?.wake()
    return connection
  }

  /** A fresh one, or why there is none. */
  async open(stop: Stop): Promise<Connection | string> {
    if (this.#lost >= LOST_MAX) return 'connect timeout'
    const { result, over, giveUp } = openConnection(this.#options.target, this.#options.connectTimeoutMs, this.#writes)
    stop.listener = () => giveUp('aborted')
    const opened = await result
    stop.listener = undefined
    if (typeof opened === 'string') this.#lose(over)
    else this.#watch(opened)
    return opened
  }

  /** Unless enough of them rest. */
  rest(connection: Connection): void {
    if (this.#resting.length >= RESTING_MAX) {
      connection.end()
      return
    }
    connection.rest(this.#options.restSeconds ?? REST_SECONDS)
    this.#resting.push(connection)
  }

  /** Apart: made in there the listener would hold all that the attempt held, for as long as the connection lives. */
  #watch(connection: Connection): void {
    connection.onIdleEnd = () => this.#forget(connection)
  }

  #forget(connection: Connection): void {
    const at = this.#resting.indexOf(connection)
    if (at !== -1) this.#resting.splice(at, 1)
  }

  #lose(over: Promise<unknown>): void {
    this.#lost++
    over.finally(() => this.#lost--).catch(() => undefined)
  }
}
