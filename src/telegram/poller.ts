/**
 * Asks Telegram for updates, one question at a time, while this process has the claim on the bot. Whatever goes wrong there ends in a wait that grows: nothing of it
 * reaches the gateway. Rules: pages.md "Telegram"; processes.md "Once".
 */

import type { Log } from '../observe/log.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { BotApi, Failed } from './bot-api.ts'
import type { ChatTurns } from './chat-turns.ts'
import { readUpdate, type Update } from './incoming.ts'
import { CLAIM_MS, type Held, type UpdateStore } from './update-store.ts'

export type PollerParts = Readonly<{
  api: BotApi
  store: UpdateStore
  turns: ChatTurns
  /** The commands that the bot's menu shows. */
  commands: readonly Readonly<{ command: string; description: string }>[]
  /** Gets what was written down, and what an earlier process left, once a claim. */
  onHeld: (held: readonly Held[]) => void
  /** How many updates wait to be answered. */
  waiting: () => number
  log: Pick<Log, 'alarm' | 'notice'>
  /** Milliseconds that never jump. */
  monotonicMs: () => number
  /** How long a process without the claim waits until it looks again; default 15 s. */
  lookEveryMs?: number | undefined
}>

/** While so many updates wait, Telegram keeps the others. */
const WAITING_MAX = 500
const FULL_MS = 500
const LOOK_EVERY_MS = 15_000
const SOON_MS = 100
const PAUSE_MS = { first: 1_000, max: 20_000 }
/** A token that Telegram does not know is tried again so often. */
const TOKEN_MS = 60_000
/** The claim counts as lost this long before its end, so that an act that has begun is over by then. */
const MARGIN_MS = 10_000

export class Poller {
  readonly #parts: PollerParts
  readonly #ending = new AbortController()
  #claimedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #told = ''
  #running: Promise<void> | undefined

  constructor(parts: PollerParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Whether this process has the claim, and may answer. */
  get isMine(): boolean {
    return !this.#ending.signal.aborted && this.#parts.monotonicMs() - this.#claimedAt < CLAIM_MS - MARGIN_MS
  }

  /** Asks no more. The claim stays until it is released, for the answers that are under way. */
  async stop(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  /** Lets another process ask at once. A claim that cannot be ended now ends by itself. */
  async release(): Promise<void> {
    await this.#parts.store.release().catch(() => undefined)
  }

  async #run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const pauseMs = await this.#round().catch((bug: unknown) => this.#failed(bug))
      if (pauseMs > 0) await this.#wait(pauseMs)
    }
  }

  /** Gives how long to wait before the next round. */
  async #round(): Promise<number> {
    const { api, store, waiting, monotonicMs, lookEveryMs = LOOK_EVERY_MS } = this.#parts
    const hadIt = this.isMine
    const at = monotonicMs()
    const claim = await store.claim()
    if (claim === undefined) {
      this.#claimedAt = Number.NEGATIVE_INFINITY
      return lookEveryMs
    }
    this.#claimedAt = at
    if (!hadIt) this.#parts.onHeld(await store.waiting())
    if (claim.name === '' || !hadIt) {
      const failed = await this.#introduce()
      if (failed !== undefined) return this.#pauseAfter(failed)
    }
    if (waiting() >= WAITING_MAX) return FULL_MS
    const askedAt = monotonicMs()
    const found = await api.updates(claim.next, this.#ending.signal)
    if (this.#ending.signal.aborted) return 0
    if ('failed' in found) return this.#pauseAfter(found)
    if (!(await this.#take(found.value, claim.next))) return this.#pauseAfter({ failed: 'away', status: null })
    this.#well()
    // Telegram waits for an update before it says that there is none; a server that does not wait is not asked without end.
    return found.value.length === 0 && monotonicMs() - askedAt < SOON_MS ? SOON_MS : 0
  }

  /** Learns the bot's name, for the links that lead to it, and tells Telegram its commands. */
  async #introduce(): Promise<Failed | undefined> {
    const { api, store, commands } = this.#parts
    const name = await api.name(this.#ending.signal)
    if ('failed' in name) return name
    await store.setName(name.value)
    const set = await api.setCommands(commands)
    return 'failed' in set && set.failed !== 'refused' ? set : undefined
  }

  /** False: updates came, and none that was asked for. Asked again, Telegram would say the same again. `from`: the number that was asked for. */
  async #take(values: readonly unknown[], from: number): Promise<boolean> {
    if (values.length === 0) return true
    const { store, turns, onHeld } = this.#parts
    const updates = values.map(readUpdate).filter((update): update is Update => update !== undefined && update.number >= from)
    if (updates.length === 0) return false
    const next = updates.reduce((last, { number }) => Math.max(last, number + 1), 0)
    // What one chat sends beyond its turns is gone here, before it costs a row.
    const admitted = updates.filter(({ incoming }) => incoming !== undefined && turns.take(incoming.chat))
    const held = await store.take(admitted, next)
    if (held === undefined) this.#claimedAt = Number.NEGATIVE_INFINITY
    else onHeld(held)
    return true
  }

  #well(): void {
    if (this.#told !== '') this.#parts.log.notice('Telegram answers again')
    this.#told = ''
    this.#failures = 0
  }

  /** Says a failure once, until all is well again. */
  #pauseAfter(failure: Failed): number {
    if (this.#ending.signal.aborted) return 0
    const { log } = this.#parts
    this.#failures++
    const grown = Math.min(PAUSE_MS.max, PAUSE_MS.first * 2 ** (this.#failures - 1))
    const isNews = this.#told !== failure.failed
    this.#told = failure.failed
    const status = failure.status ?? 'none'
    switch (failure.failed) {
      case 'flood':
        return failure.retryAfterS * 1_000
      case 'token':
        if (isNews) log.alarm('Telegram does not know the bot’s token', { status })
        return TOKEN_MS
      case 'conflict':
        if (isNews) log.alarm('another program asks for the bot’s updates', { status })
        return PAUSE_MS.max
      case 'refused':
      case 'away':
        if (isNews) log.notice('Telegram does not answer', { status })
        return grown
    }
  }

  #failed(bug: unknown): number {
    // While the store is away the claim runs out, and pages say what is wrong.
    if (bug instanceof PeopleAway) return PAUSE_MS.max
    if (!this.#ending.signal.aborted)
      this.#parts.log.alarm('the bot failed by a bug', { bug: bug instanceof Error ? bug.name : typeof bug })
    return PAUSE_MS.max
  }

  async #wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    timer.unref()
    this.#ending.signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
  }
}
