/**
 * Keeps which relays live: those that have joined, and relays of the previous ledger process that have not come again yet. A relay is gone when its process has ended, when it
 * was silent for too long, or when it does not read what it is told. Rules: processes.md "Death".
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

/** What is said of a relay that is gone. `untaken`: it could not be taken and held up others. */
export const GONE = {
  dead: 'has ended',
  silent: 'is not heard of',
  unread: 'does not read what it is told',
  untaken: 'cannot join, and others wait for it',
} as const

export type WhyGone = keyof typeof GONE

type Watching = Readonly<{
  silenceMs?: number | undefined
  beginningOf?: ((pid: number) => string | undefined) | undefined
  onGone: (relay: Relay, why: WhyGone) => void
  /** Called with the number of a process that may not join any more although it runs. */
  onCutOff?: ((pid: number) => void) | undefined
  /** Whether the storage takes what others ask now; otherwise none of them waits for one that cannot join. */
  isWritable: () => boolean
  /** Called after each look. */
  onLooked: () => void
}>

const SILENCE_MS = 10_000
/** A relay that died is found dead by the second or third look. */
const LOOK_MS = 20
/** If two looks are this far apart, this process itself did not run, and could hear no relay. */
const AWAY_MS = 2_000
/** How long relays that have joined wait for one that calls and is not taken, although the storage takes what they ask. */
const HELD_UP_MS = 30_000
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
  /** Since when relays that could go on wait for others. */
  #heldUpSinceMs = performance.now()

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

  /** The connection that the relay had before is ended. */
  add(hello: Hello, connection: Connection): Relay {
    const { bootId } = hello
    const { pid } = connection
    const last = this.#relays.get(bootId)
    const lastBoot = last?.lastBoot
    if (last !== undefined) drop(last)
    const known = { bootId, pid, beginning: this.#beginningOf(pid), hello }
    const relay = { ...known, connection, boot: undefined, lastBoot, heardAtMs: performance.now() }
    this.#relays.set(bootId, relay)
    return relay
  }

  /** To be called when a relay that may join calls, also where it cannot be taken now: it is not silent. */
  noteCall({ bootId }: Hello, pid: number): void {
    const nowMs = performance.now()
    const relay = this.#relays.get(bootId)
    if (relay !== undefined) relay.heardAtMs = nowMs
    const awaited = this.#awaited.get(pid)
    if (awaited !== undefined) this.#awaited.set(pid, { ...awaited, untilMs: nowMs + this.#silenceMs })
  }

  /** To be called when the thread knows the relay: while it was waited for, the relay had nothing to say. */
  noteJoined(relay: Relay, boot: number): void {
    relay.heardAtMs = performance.now()
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
    const isHeldUp = this.#isHeldUp(nowMs, wasAway)
    for (const relay of this.all()) {
      if (wasAway) relay.heardAtMs = nowMs
      const why = this.#whyGone(relay, nowMs, isHeldUp)
      if (why !== undefined) this.#watching.onGone(relay, why)
      if (why === undefined || why === 'dead') continue
      this.#forget(relay.pid)
      this.#cutOff(relay)
    }
    for (const [pid, { untilMs, beginning }] of this.#awaited) {
      // One that has called is in the list of relays, and goes by that.
      const isSilent = nowMs > untilMs && this.find((relay) => relay.pid === pid) === undefined
      if (wasAway) this.#await(pid)
      else if (isSilent || isHeldUp || this.#hasEnded({ pid, beginning })) {
        this.#forget(pid)
        this.#cutOff({ pid, beginning })
      }
    }
    this.#watching.onLooked()
  }

  #whyGone(relay: Relay, nowMs: number, isHeldUp: boolean): WhyGone | undefined {
    const { connection, boot, heardAtMs } = relay
    if (connection === undefined && this.#hasEnded(relay)) return 'dead'
    if (isHeldUp && boot === undefined) return 'untaken'
    // A relay whose call is not answered yet waits for this process, and says nothing meanwhile.
    const waits = connection !== undefined && boot === undefined
    if (!waits && nowMs - heardAtMs > this.#silenceMs) return 'silent'
    return (connection?.unsentBytes ?? 0) > UNSENT_BYTES_MAX ? 'unread' : undefined
  }

  #isHeldUp(nowMs: number, wasAway: boolean): boolean {
    const couldGoOn = this.#watching.isWritable() && this.all().some(({ boot }) => boot !== undefined)
    if (this.areAllThere || !couldGoOn || wasAway) this.#heldUpSinceMs = nowMs
    return nowMs - this.#heldUpSinceMs > HELD_UP_MS
  }

  #forget(pid: number): void {
    this.#awaited.delete(pid)
    this.#mayReturn.delete(pid)
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

/** Ends the relay's connection; the relay may join again, and has the time for it from now on. */
export function drop(relay: Relay): void {
  const { connection } = relay
  if (connection !== undefined) relay.heardAtMs = performance.now()
  relay.connection = undefined
  connection?.close()
}
