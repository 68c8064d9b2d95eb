/**
 * Bounds the bytes of bodies that are in memory at once, those of requests and of whole answers, and the bytes that an account may send in a minute. A body that does
 * not fit is refused, not queued: by 429 where its account's share is full, by 503 where the pool of all is. Rules: requests.md "Memory of bodies".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { FairQueue } from '../core/fair-queue.ts'
import { availableIn, type KeyBalance, type KeyRecord } from '../core/key.ts'
import type { Limits } from '../core/limits.ts'
import { ZERO } from '../core/money.ts'
import { step } from '../core/rate-limit.ts'
import { Refusal } from '../core/refusal.ts'
import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { SharedBytes } from '../ledger/shared-limits.ts'
import type { World } from '../world.ts'
import { AnswerTurns, type ReadAnswer } from './answer-turns.ts'

/** One request's place in the memory. */
export type BodyLease = Readonly<{
  /**
   * Waits a second at most until the pool has room for a body of so many bytes, accounts in turns; undefined: there is nothing to wait for. When the body comes, it may
   * find the room taken all the same.
   */
  room(bytes: number, time: Pick<World, 'clock' | 'wheel'>): Promise<void> | undefined
  /** Tells that so many bytes of the body are here by now. Returns the refusal when they do not fit; then nothing has changed. */
  grow(bytes: number): Refusal | undefined
  /**
   * Tells that so many bytes of an answer are here beside the body; they count in the account's share. Returns a promise when the share is full: the rest is not to be
   * read before it resolves. The answer is not refused then, since it has been paid for upstream. One of an account's answers is always read. Returns the refusal when
   * the pool is full.
   */
  growAnswer(bytes: number): Refusal | Promise<void> | undefined
  /** The same as `growAnswer` for a kept answer, which can be asked for again: returns the refusal when it does not fit, and then nothing has changed. */
  growRepetition(bytes: number): Refusal | undefined
  /**
   * Keeps the answer, of so many bytes as it is sent, counted when the rest is given back; the returned function gives the answer back, too. A translated answer may be
   * larger than it came, and exceed the pool by the difference: it has been paid for.
   */
  keepAnswer(bytes: number): () => void
  /** Gives everything back; may be called any number of times. */
  release(): void
}>

type Payer = Pick<KeyRecord, 'id' | 'accountId'>

type BodyMemoryOptions = Readonly<{
  poolBytes: number
  limits: () => Pick<Limits, 'bodyBytesPerMinute'>
  /** The balance of a key, as far as memory knows it. */
  keyBalanceOf: (keyId: string) => KeyBalance | undefined
  /** Milliseconds that never jump. */
  now: () => number
  /** Present where several relays answer. */
  shared?: SharedBytes | undefined
}>

const MIB = 1024 * 1024
const POOL_BYTES_MAX = 512 * MIB
const SHARE_BYTES_MAX = 128 * MIB
/** A little more than the largest body. */
const SHARE_BYTES_MIN = 33 * MIB
/** The common share of all accounts that cannot pay. Ids of accounts are never empty. */
const UNFUNDED = ''
const ACCOUNTS_MAX = 100_000
const SHARE_RETRY_SECONDS = 1
const MINUTE_MS = 60_000
const ROOM_WAIT_MS = 1_000
const WAITERS_MAX = 1_000

/** An answer up to this size does not wait: enough of them fit. */
const LITTLE_BYTES = 256 * 1024

/** A body that waits for room. */
type Waiter = Timed & Readonly<{ bytes: number; wake: () => void }>

/** The pool of a process that may use so much memory: parsing makes a body several times larger, but only one is parsed at a time. */
export const poolBytesOf = (memoryBytes: number): number => Math.min(POOL_BYTES_MAX, Math.floor(memoryBytes / 4))

export class BodyMemory {
  readonly #options: BodyMemoryOptions
  readonly #shareBytes: number
  readonly #shares = new Map<string, number>()
  /** The state of each account's budget, in the terms of the rate limit. */
  readonly #budgets = boundedMap<number>(ACCOUNTS_MAX)
  readonly #waiting = new FairQueue<Waiter>()
  readonly #answers = new AnswerTurns((accountId) => this.#isOverShare(accountId, 0))
  #bytes = 0

  constructor(options: BodyMemoryOptions) {
    this.#options = options
    options.shared?.onTold((accountId, aheadMs) => this.#learn(accountId, aheadMs))
    this.#shareBytes = Math.max(SHARE_BYTES_MIN, Math.min(SHARE_BYTES_MAX, options.poolBytes / 4))
  }

  /** The counted bytes of all requests and answers, now. */
  get bytes(): number {
    return this.#bytes
  }

  lease(key: Payer): BodyLease {
    const { accountId } = key
    const reading: ReadAnswer = {}
    let share = this.#shareOf(key)
    let body = 0
    let answer = 0
    let isKept = false
    /** Moves the body to the share of its account as it is now: the account may have paid, or used up its money, while the body came in. */
    const move = (): void => {
      const now = this.#shareOf(key)
      if (now === share) return
      this.#add(share, -body)
      share = now
      this.#add(share, body)
    }
    return {
      room: (bytes, time) => {
        const isWorthIt = this.#isFull(bytes) && !this.#isOverShare(share, bytes) && this.#waiting.length < WAITERS_MAX
        return isWorthIt ? this.#wait(share, bytes, time) : undefined
      },
      grow: (bytes) => {
        move()
        const more = bytes - body
        const refusal = more > 0 ? (this.#refuse(share, more) ?? this.#spend(key, more)) : undefined
        if (refusal !== undefined) return refusal
        this.#take(share, more)
        body = bytes
        return undefined
      },
      growAnswer: (bytes) => {
        const more = bytes - answer
        if (this.#isFull(more)) return new Refusal('overloaded')
        this.#take(accountId, more)
        answer = bytes
        return bytes > LITTLE_BYTES ? this.#answers.turn(accountId, reading) : undefined
      },
      growRepetition: (bytes) => {
        const refusal = this.#refuse(accountId, bytes - answer)
        if (refusal !== undefined) return refusal
        this.#take(accountId, bytes - answer)
        answer = bytes
        return undefined
      },
      keepAnswer: (bytes) => {
        this.#take(accountId, bytes - answer)
        answer = 0
        let kept = bytes
        isKept = true
        return () => {
          this.#take(accountId, -kept)
          kept = 0
          this.#answers.end(accountId, reading)
          this.#freed(accountId)
        }
      },
      release: () => {
        this.#take(share, -body)
        this.#take(accountId, -answer)
        body = 0
        answer = 0
        if (!isKept) this.#answers.end(accountId, reading)
        this.#freed(accountId)
      },
    }
  }

  /** A key that is not in memory may be new: it must not wait in the queue of the accounts that cannot pay. */
  #shareOf({ id, accountId }: Payer): string {
    const keyBalance = this.#options.keyBalanceOf(id)
    return keyBalance === undefined || availableIn(keyBalance) > ZERO ? accountId : UNFUNDED
  }

  #isFull(more: number): boolean {
    return this.#bytes + more > this.#options.poolBytes
  }

  #isOverShare(share: string, more: number): boolean {
    return (this.#shares.get(share) ?? 0) + more > this.#shareBytes
  }

  #wait(share: string, bytes: number, { clock, wheel }: Pick<World, 'clock' | 'wheel'>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = {
      tick: NO_TICK,
      bytes,
      wake: () => {
        wheel.drop(waiter)
        resolve()
      },
      onTime: () => {
        this.#waiting.remove(share, waiter)
        resolve()
      },
    }
    this.#waiting.add(share, waiter)
    wheel.set(waiter, clock.monotonicMs() + ROOM_WAIT_MS)
    return promise
  }

  /** Called when memory is free again: as many waiting bodies go on as it has room for, accounts in turns. */
  #freed(accountId: string): void {
    this.#answers.wake(accountId)
    let promised = 0
    for (let next = this.#waiting.peek(); next !== undefined && !this.#isFull(promised + next.bytes); next = this.#waiting.peek()) {
      this.#waiting.take()
      promised += next.bytes
      next.wake()
    }
  }

  #refuse(share: string, more: number): Refusal | undefined {
    if (this.#isOverShare(share, more)) return new Refusal('rateLimited', { retryAfterSeconds: SHARE_RETRY_SECONDS })
    return this.#isFull(more) ? new Refusal('overloaded') : undefined
  }

  #spend({ accountId }: Payer, bytes: number): Refusal | undefined {
    const perMinute = this.#options.limits().bodyBytesPerMinute
    const state = this.#budgets.get(accountId)
    const now = this.#options.now()
    const { tat, isAllowed, retryAfterSeconds } = step(state, now, { perMinute, burst: perMinute }, bytes)
    // What several relays have let in at the same moment is beyond the minute that a step believes.
    const owedSeconds = Math.max(0, Math.ceil(((state ?? now) - now - MINUTE_MS) / 1000))
    if (!isAllowed || owedSeconds > 0) return new Refusal('rateLimited', { retryAfterSeconds: owedSeconds + retryAfterSeconds })
    this.#budgets.set(accountId, tat)
    this.#options.shared?.add(accountId, bytes, perMinute)
    return undefined
  }

  /** What was let in here and not told yet is in the own state alone. */
  #learn(accountId: string, aheadMs: number): void {
    this.#budgets.set(accountId, Math.max(this.#budgets.get(accountId) ?? 0, this.#options.now() + aheadMs))
  }

  #take(share: string, more: number): void {
    this.#add(share, more)
    this.#bytes += more
  }

  #add(share: string, more: number): void {
    const bytes = (this.#shares.get(share) ?? 0) + more
    if (bytes > 0) this.#shares.set(share, bytes)
    else this.#shares.delete(share)
  }
}
