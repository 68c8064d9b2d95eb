/**
 * What the relays of a ledger process do now, which answers no clients itself: it asks each of them over the operator's socket, when a page is asked for, at most once a second.
 * Rules: processes.md "Once"; pages.md "Now".
 */

import type { GatewayReply } from './ask-gateways.ts'
import type { Moment } from './moment.ts'
import { together } from './moments-together.ts'

type Parts = Readonly<{
  /** The moment of this process. */
  own: () => Moment
  ask: () => Promise<readonly GatewayReply<Moment>[]>
  monotonicMs: () => number
  /** Called once for a relay whose answer is too long to be read, until it is read again. */
  onTooLong: (relay: number | null) => void
}>

const FRESH_MS = 900

export class RelaysNow {
  readonly #parts: Parts
  /** By the paths of the relays' sockets. */
  #relays: ReadonlyMap<string, Moment> = new Map()
  /** The relays that were told of. */
  #tooLong: ReadonlySet<string> = new Set()
  #askedAtMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** As of the last look. A moment that is not fresh begins the next look. */
  moment(): Moment {
    void this.look()
    return together(this.#parts.own(), [...this.#relays.values()])
  }

  /** Resolves when a fresh moment is there. Never rejects. */
  look(): Promise<void> {
    if (this.#looking === undefined && this.#parts.monotonicMs() - this.#askedAtMs < FRESH_MS) return Promise.resolve()
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** A relay that is silent keeps what it had: this is reserved still. */
  async #look(): Promise<void> {
    this.#askedAtMs = this.#parts.monotonicMs()
    const before = this.#relays
    const replies = await this.#parts.ask().catch(() => undefined)
    if (replies === undefined) return
    this.#tell(replies)
    const now = replies.flatMap(({ socket: { path }, said }) => {
      const moment = said === 'silent' ? before.get(path) : said
      return moment === undefined ? [] : [[path, moment] as const]
    })
    this.#relays = new Map(now)
  }

  #tell(replies: readonly GatewayReply<Moment>[]): void {
    const tooLong = replies.filter(({ isTooLong }) => isTooLong === true).map(({ socket }) => socket)
    for (const { path, pid } of tooLong) if (!this.#tooLong.has(path)) this.#parts.onTooLong(pid)
    this.#tooLong = new Set(tooLong.map(({ path }) => path))
  }
}
