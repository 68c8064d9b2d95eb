/** The idle connections of one upstream. Rules: faults.md "Upstream calls", "Connections". */

import type { Connection } from './connection.ts'
import { openConnection, type Target } from './open-connection.ts'
import { TurnReads } from './turn-reads.ts'
import { TurnWrites } from './turn-writes.ts'
import type { Stop } from './upstream.ts'

export type PoolOptions = Readonly<{ target: Target; connectTimeoutMs: number; restSeconds?: number }>

/** How long an idle connection is kept. Common servers and balancers close one after a minute; the pool closes it first. */
const REST_SECONDS = 45
/** The most idle connections of one upstream. After a peak of streams all above it are closed, because each takes 8 kB. */
const RESTING_MAX = 500
/**
 * The most attempts to connect that were given up and still run: the kernel cannot be told to stop, and tries a silent address for two minutes. At this limit
 * `open` fails at once.
 */
const LOST_MAX = 256

export class ConnectionPool {
  readonly #options: PoolOptions
  /** Last in, first out: the connections that are not needed stay at the bottom, grow old and are closed. */
  readonly #resting: Connection[] = []
  readonly #turns = { writes: new TurnWrites(), reads: new TurnReads() }
  #lost = 0

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Takes an idle connection, if there is one. The upstream may have closed it meanwhile. */
  takeRested(): Connection | undefined {
    const connection = this.#resting.pop()
    connection?.wake()
    return connection
  }

  /** Opens a new connection; a text is why that failed, such as `connect timeout`. */
  async open(stop: Stop): Promise<Connection | string> {
    if (this.#lost >= LOST_MAX) return 'connect timeout'
    const { result, over, giveUp } = openConnection(this.#options.target, this.#options.connectTimeoutMs, this.#turns)
    stop.listener = () => giveUp('aborted')
    const opened = await result
    stop.listener = undefined
    if (typeof opened === 'string') this.#lose(over)
    else this.#watch(opened)
    return opened
  }

  /** Keeps the connection for a later request; closes it when the pool is full. */
  rest(connection: Connection): void {
    if (this.#resting.length >= RESTING_MAX) {
      connection.end()
      return
    }
    connection.rest(this.#options.restSeconds ?? REST_SECONDS)
    this.#resting.push(connection)
  }

  /** A method of its own: a listener made inside `open` would hold everything that `open` holds, for as long as the connection lives. */
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
