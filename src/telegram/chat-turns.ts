/** How often one chat is heard: what it sends beyond that is dropped unread, so that it costs the others nothing. Rules: pages.md "Telegram". */

import { boundedMap } from '../core/bounded-map.ts'
import { type RateRule, step } from '../core/rate-limit.ts'

const TURNS: RateRule = { perMinute: 40, burst: 20 }
const CHATS_MAX = 10_000

export class ChatTurns {
  readonly #monotonicMs: () => number
  readonly #onDropped: () => void
  readonly #tats = boundedMap<number>(CHATS_MAX)

  constructor(monotonicMs: () => number, onDropped: () => void) {
    this.#monotonicMs = monotonicMs
    this.#onDropped = onDropped
  }

  /** Whether the chat is heard now; if so, it is counted. */
  take(chat: number): boolean {
    const { tat, isAllowed } = step(this.#tats.get(String(chat)), this.#monotonicMs(), TURNS)
    this.#tats.set(String(chat), tat)
    if (!isAllowed) this.#onDropped()
    return isAllowed
  }
}
