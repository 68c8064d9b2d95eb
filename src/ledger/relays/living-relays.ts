/**
 * Keeps which relays live: those that have joined, and relays of the previous ledger process that have not come again yet. A relay is gone when its process has ended, or when
 * it was silent for too long. Rules: processes.md "Death".
 */

import type { Connection } from './hub-socket.ts'
import type { Hello } from './messages.ts'
import { beginningOf as beginningInKernel } from './peer.ts'

/** `boot`: undefined until the thread knows it. `lastBoot`: by which a thread knew it last, also while it joins again. `beginning`: when the process began, which tells it from a later process of the same number. */
export type Relay = {
  readonly bootId: string
  readonly pid: number
  readonly beginning: string | undefined
  readonly hello: Hello
  boot: number | undefined
  lastBoot: number | undefined
  connection: Connection | undefined
  heardAtMs: number
}

type Watching = Readonly<{
  silenceMs?: number | undefined
  beginningOf?: ((pid: number) => string | undefined) | undefined
  /** Called when the process of a relay has ended, or when the relay was silent for too long. */
  onGone: (relay: Relay, why: 'dead' | 'silent') => void
  /** Called with the number of a process that was silent for too long, and may not join any more. */
  onCutOff?: ((pid: number) => void) | undefined
  /** Called after each look. */
  onLooked: () => void
}>

const SILENCE_MS = 10_000
/** A relay that died is found dead by the second or third look. */
const LOOK_MS = 20
/** If two looks are this far apart, this process itself did not run, and could hear no relay. */
const AWAY_MS = 2_000
/** A relay with more unsent bytes than this counts as one that does not read any more. */
const UNSENT_BYTES_MAX = 256 * 1024 * 1024

export class LivingRelays {
  readonly #watching: Watching
  readonly #silenceMs: number
  readonly #beginningOf: (pid: number) => string | undefined
  readonly #relays = new Map<string, Relay>()
  readonly #ended = new Set<string>()
  /** Processes that may come again; of those in `#awaited` it is not known yet what they hold. */
  readonly #mayReturn: Set<number>
  readonly #awaited = new Map<number, Readonly<{ untilMs: number; beginning: string | undefined }>>()
  readonly #looks: ReturnType<typeof setInterval>
  #lastLookMs = performance.now()

  constructor(expected: readonly number[], watching: Watching) {
    this.#watching = watching
    this.#silenceMs = watching.silenceMs ?? SILENCE_MS
    this.#beginningOf = watching.beginningOf ?? beginningInKernel
    this.#mayReturn = new Set(expected)
    for (const pid of expected) this.#await(pid)
    this.#looks = setInterval(() => this.#look(), LOOK_MS)
  }

  get isEmpty(): boolean {
    return this.#relays.size === 0 && this.#awaited.size === 0
  }

  /** Whether all living relays have joined. */
  get areAllThere(): boolean {
    return this.#awaited.size === 0 && this.all().every(({ boot }) => boot !== undefined)
  }

  all(): readonly Relay[] {
    return [...this.#relays.values()]
  }

  find(is: (relay: Relay) => boolean): Relay | undefined {
    return this.#relays.values().find(is)
  }

  get(bootId: string): Relay | undefined {
    return this.#relays.get(bootId)
  }

  /** Whether the relay may join: it is known, or new, or expected to come again. */
  mayJoin({ bootId, isNew }: Hello, pid: number): boolean {
    return !this.#ended.has(bootId) && (isNew || this.#relays.has(bootId) || this.#mayReturn.has(pid))
  }

  add(hello: Hello, connection: Connection): Relay {
    const { bootId } = hello
    const { pid } = connection
    const lastBoot = this.#relays.get(bootId)?.lastBoot
    const known = { bootId, pid, beginning: this.#beginningOf(pid), hello }
    const relay = { ...known, connection, boot: undefined, lastBoot, heardAtMs: performance.now() }
    this.#relays.set(bootId, relay)
    return relay
  }

  /** To be called when the thread knows the relay. */
  noteJoined(relay: Relay, boot: number): void {
    relay.boot = boot
    relay.lastBoot = boot
    this.#awaited.delete(relay.pid)
  }

  /** Notes that the relay may not come again. False: that was noted before. */
  noteEnded({ bootId }: Relay): boolean {
    if (this.#ended.has(bootId)) return false
    this.#ended.add(bootId)
    return true
  }

  remove({ bootId }: Relay): void {
    this.#relays.delete(bootId)
  }

  close(): void {
    clearInterval(this.#looks)
  }

  #look(): void {
    const nowMs = performance.now()
    const wasAway = nowMs - this.#lastLookMs > AWAY_MS
    this.#lastLookMs = nowMs
    for (const relay of this.all()) {
      if (wasAway) relay.heardAtMs = nowMs
      const { connection, heardAtMs } = relay
      if (connection === undefined && this.#hasEnded(relay)) this.#watching.onGone(relay, 'dead')
      else if (nowMs - heardAtMs > this.#silenceMs || (connection?.unsentBytes ?? 0) > UNSENT_BYTES_MAX) {
        this.#watching.onGone(relay, 'silent')
        this.#cutOff(relay)
      }
    }
    for (const [pid, { untilMs, beginning }] of this.#awaited) {
      if (wasAway) this.#await(pid)
      else if (nowMs > untilMs || this.#hasEnded({ pid, beginning })) {
        this.#awaited.delete(pid)
        this.#mayReturn.delete(pid)
        this.#cutOff({ pid, beginning })
      }
    }
    this.#watching.onLooked()
  }

  #cutOff(of: Pick<Relay, 'pid' | 'beginning'>): void {
    if (!this.#hasEnded(of)) this.#watching.onCutOff?.(of.pid)
  }

  /** Without a beginning the process had ended before it was looked for: a relay may die before its hello is read. */
  #hasEnded({ pid, beginning }: Pick<Relay, 'pid' | 'beginning'>): boolean {
    return beginning === undefined || this.#beginningOf(pid) !== beginning
  }

  #await(pid: number): void {
    this.#awaited.set(pid, { untilMs: performance.now() + this.#silenceMs, beginning: this.#beginningOf(pid) })
  }
}

/** Ends the relay's connection; the relay may join again. */
export function drop(relay: Relay): void {
  const { connection } = relay
  relay.connection = undefined
  connection?.close()
}
