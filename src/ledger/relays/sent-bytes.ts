/**
 * The bytes that accounts have sent to all relays, in the memory of the ledger process: what one relay has let in is told to all, so that each of them decides at once, without a question.
 * Rules: processes.md "Shared".
 */

import { boundedMap } from '../../core/bounded-map.ts'

/** From a relay: what it has let in since it told last. */
export type SentWord = Readonly<{ kind: 'sent'; accountId: string; bytes: number; perMinute: number }>
/** To all relays. `aheadMs`: until the account's minute is whole again. */
export type SentTold = Readonly<{ kind: 'sent'; accountId: string; aheadMs: number }>

type Listening = Readonly<{ boot: number | undefined; connection: Readonly<{ send(message: SentTold): void }> | undefined }>

const ACCOUNTS_MAX = 100_000
const MINUTE_MS = 60_000

export class SentBytes {
  /** When each account's minute is whole again. */
  readonly #wholeAtMs = boundedMap<number>(ACCOUNTS_MAX)
  readonly #monotonicMs: () => number

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs
  }

  hear({ accountId, bytes, perMinute }: SentWord, relays: readonly Listening[]): void {
    const nowMs = this.#monotonicMs()
    const fromMs = Math.max(this.#wholeAtMs.get(accountId) ?? nowMs, nowMs)
    // At the same moment each relay may let in a minute's worth, and owed is no more than all of them have let in.
    const aheadMsMax = (relays.length + 1) * MINUTE_MS
    const wholeAtMs = Math.min(fromMs + (bytes * MINUTE_MS) / perMinute, nowMs + aheadMsMax)
    this.#wholeAtMs.set(accountId, wholeAtMs)
    const told: SentTold = { kind: 'sent', accountId, aheadMs: wholeAtMs - nowMs }
    for (const { boot, connection } of relays) if (boot !== undefined) connection?.send(told)
  }
}
