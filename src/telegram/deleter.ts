/** Deletes messages with a secret when their time has come; what is to be deleted is in the store, so that no restart leaves one. Rules: pages.md "Telegram". */

import type { Log } from '../observe/log.ts'
import type { BotApi } from './bot-api.ts'
import type { UpdateStore } from './update-store.ts'

export type DeleterParts = Readonly<{
  api: Pick<BotApi, 'delete'>
  store: UpdateStore
  /** Whether this process may do it now. */
  isMine: () => boolean
  now: () => number
  log: Pick<Log, 'alarm'>
}>

const AT_ONCE_MAX = 20
const SLEEP_MS_MAX = 60_000
/** After Telegram did not answer. */
const AGAIN_MS = 5_000

export class Deleter {
  readonly #parts: DeleterParts
  #timer: ReturnType<typeof setTimeout> | undefined
  #looking: Promise<void> | undefined
  #isAskedAgain = false
  #isClosed = false

  constructor(parts: DeleterParts) {
    this.#parts = parts
  }

  /** Called when a message is to be deleted, or when this process got the claim. */
  wake(): void {
    this.#isAskedAgain = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      if (this.#isAskedAgain && !this.#isClosed) this.wake()
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #look(): Promise<void> {
    this.#isAskedAgain = false
    clearTimeout(this.#timer)
    const sleepMs = await this.#round().catch((bug: unknown) => {
      if (!this.#isClosed) this.#parts.log.alarm('the bot failed by a bug', { bug: bug instanceof Error ? bug.name : typeof bug })
      return SLEEP_MS_MAX
    })
    if (sleepMs === undefined || this.#isClosed) return
    this.#timer = setTimeout(() => this.wake(), sleepMs)
    this.#timer.unref()
  }

  /** Gives when to look again; undefined: nothing is to be deleted. */
  async #round(): Promise<number | undefined> {
    const { api, store, isMine, now } = this.#parts
    for (const deletion of await store.deletions(AT_ONCE_MAX)) {
      if (this.#isClosed) return undefined
      if (!isMine()) return SLEEP_MS_MAX
      const leftMs = deletion.deleteAt - now()
      if (leftMs > 0) return Math.min(leftMs, SLEEP_MS_MAX)
      const done = await api.delete(deletion.chat, deletion.message)
      // One that Telegram refuses is gone, or too old to be deleted.
      if ('failed' in done && done.failed !== 'refused') return done.failed === 'flood' ? done.retryAfterS * 1_000 : AGAIN_MS
      await store.deleted(deletion)
    }
    return (await store.deletions(1)).length > 0 ? 0 : undefined
  }
}
