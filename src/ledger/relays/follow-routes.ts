/**
 * Carries questions about a running stream from the relay whose clients wait for it to the one that runs it, and the answers back. The ledger process keeps none of the bytes.
 * Rules: requests.md "Joined answers"; processes.md "Shared".
 */

import type { FollowAsk, FollowReply, FollowTold } from '../shared-answers.ts'

/** To the relay that runs the request; its answer has the same name. */
export type Followed = Readonly<{ kind: 'followed'; name: string; ask: FollowAsk }>

type Runner = Readonly<{ bootId: string; boot: number | undefined; connection: Readonly<{ send(message: Followed): void }> | undefined }>
type Runners = Readonly<{ find(is: (relay: Runner) => boolean): Runner | undefined; get(bootId: string): Runner | undefined }>

/** Longer than a relay holds a question. */
const WAIT_MS = 3_000

type Waiting = Readonly<{ boot: number; tell: (reply: FollowReply) => void; owner: string; timer: ReturnType<typeof setTimeout> }>

export class FollowRoutes {
  readonly #waitMs: number
  readonly #waiting = new Map<string, Waiting>()
  #runners: Runners | undefined

  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs
  }

  over(runners: Runners): void {
    this.#runners = runners
  }

  /** `claimedBy`: the boot of the relay that has the claim. */
  ask(ask: FollowAsk, claimedBy: number | undefined): FollowReply | Promise<FollowReply> {
    const { owner } = ask
    const runner =
      owner === undefined ? this.#runners?.find(({ boot }) => boot !== undefined && boot === claimedBy) : this.#runners?.get(owner)
    if (runner === undefined) return 'gone'
    const { boot, connection, bootId } = runner
    if (boot === undefined || connection === undefined) return 'unavailable'
    const name = Bun.randomUUIDv7()
    const { promise, resolve } = Promise.withResolvers<FollowReply>()
    const tell = (reply: FollowReply): void => {
      clearTimeout(timer)
      this.#waiting.delete(name)
      resolve(reply)
    }
    // A connection that ends takes the question with it, and its relay may live on.
    const timer = setTimeout(tell, this.#waitMs, 'unavailable')
    this.#waiting.set(name, { boot, tell, owner: bootId, timer })
    connection.send({ kind: 'followed', name, ask })
    return promise
  }

  told(boot: number, name: string, told: FollowTold): void {
    const waiting = this.#waiting.get(name)
    if (waiting?.boot === boot) waiting.tell({ ...told, owner: waiting.owner })
  }

  /** To be called when a relay is gone. */
  leave(boot: number): void {
    for (const waiting of [...this.#waiting.values()]) if (waiting.boot === boot) waiting.tell('gone')
  }
}
