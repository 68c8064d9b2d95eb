/**
 * One snapshot a second for all viewers, as server-sent events; without a viewer there is no timer. A slow reader misses events, and is closed when it has read none
 * for a while; a reader whose session has ended is closed within a second, and all readers are when the gateway drains. Rules: pages.md "Now".
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import type { NowDocument } from './document.ts'

export type FeedParts = Readonly<{
  snapshot: () => NowDocument
  /** Reads the figures of snapshots that are not in memory. Never rejects. */
  measure: () => Promise<void>
  isDraining: () => boolean
}>

type Listener = {
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  /** False: the viewer may not look any more, or the gateway cannot find out. */
  readonly mayLook: () => Promise<boolean>
  missed: number
}

const EVERY_MS = 1_000
const MEASURED_EVERY_TURNS = 3
/** How long the first event waits for figures that are not in memory. */
const FIRST_WAIT_MS = 200
const LISTENERS_MAX = 128
/** How many events a listener may miss in a row before it is closed. */
const MISSED_MAX = 30
/** The most whole events that wait for a reader. */
const BEHIND_MAX = 2

export class NowFeed {
  readonly #parts: FeedParts
  readonly #listeners = new Set<Listener>()
  #timer: ReturnType<typeof setInterval> | undefined
  #turn = 0
  #isTicking = false
  #measuring: Promise<void> | undefined

  constructor(parts: FeedParts) {
    this.#parts = parts
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Opens a feed, whose first event comes at once. Undefined: there are too many viewers, or the gateway drains. */
  open(mayLook: () => Promise<boolean>): ReadableStream<Uint8Array> | undefined {
    if (this.#listeners.size >= LISTENERS_MAX || this.#parts.isDraining()) return undefined
    let listener: Listener | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: async (controller) => {
          listener = { controller, mayLook, missed: 0 }
          const isFirst = this.#listeners.size === 0
          this.#listeners.add(listener)
          if (isFirst) await Promise.race([this.#measure(), Bun.sleep(FIRST_WAIT_MS)])
          if (!this.#listeners.has(listener)) return
          this.#timer ??= setInterval(() => void this.#tick(), EVERY_MS)
          this.#send(listener, eventOf(this.#parts.snapshot()))
        },
        cancel: () => {
          if (listener !== undefined) this.#forget(listener)
        },
      },
      { highWaterMark: BEHIND_MAX },
    )
  }

  async #tick(): Promise<void> {
    if (this.#parts.isDraining()) {
      for (const listener of this.#listeners) this.#end(listener)
      return
    }
    if (this.#isTicking) return
    this.#isTicking = true
    await Promise.all([...this.#listeners].map((listener) => this.#check(listener)))
    this.#isTicking = false
    if (this.#listeners.size === 0) return
    if (++this.#turn % MEASURED_EVERY_TURNS === 0) void this.#measure()
    const event = eventOf(this.#parts.snapshot())
    for (const listener of this.#listeners) this.#send(listener, event)
  }

  async #check(listener: Listener): Promise<void> {
    const mayLook = await listener.mayLook().catch(() => false)
    if (!mayLook) this.#end(listener)
  }

  #measure(): Promise<void> {
    this.#measuring ??= this.#parts.measure().finally(() => {
      this.#measuring = undefined
    })
    return this.#measuring
  }

  #send(listener: Listener, event: Uint8Array): void {
    if ((listener.controller.desiredSize ?? 0) > 0) {
      listener.controller.enqueue(event)
      listener.missed = 0
    } else if (++listener.missed > MISSED_MAX) this.#end(listener)
  }

  #end(listener: Listener): void {
    if (!this.#listeners.has(listener)) return
    this.#forget(listener)
    listener.controller.close()
  }

  #forget(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const ENCODER = new TextEncoder()
const eventOf = (document: NowDocument): Uint8Array => ENCODER.encode(`data: ${JSON.stringify(document)}\n\n`)
