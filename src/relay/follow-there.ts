/**
 * Tells other relays of the streams that run here: one question at a time for those who wait at one relay, held until there is more, and so no faster than they take it. The bytes
 * stay in the running answer. Rules: requests.md "Joined answers"; processes.md "Shared".
 */

import { Refusal } from '../core/refusal.ts'
import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import type { FollowAsk, FollowState, FollowTold } from '../ledger/shared-answers.ts'
import type { World } from '../world.ts'
import type { Follower } from './follower.ts'
import type { IdempotentResponses } from './idempotent-responses.ts'
import { PassedBytes } from './passed-bytes.ts'
import type { JoinedPlace, RunningAnswer } from './running-answer.ts'

/** How long a question is held: after that the other relay asks again, and says how many still wait. */
const HOLD_MS = 1_000
/** How long places are kept without a question: longer than a ledger process is away. */
const SILENCE_MS = 15_000
const PIECE_BYTES = 64 * 1024
/** Bytes that have no room in the answer, for followers that are on their way. */
const PASSED_BYTES_MAX = 256 * 1024

const UNKNOWN: FollowTold = { requestId: '', isStream: false, state: { kind: 'unknown' } }

type Time = Pick<World, 'clock' | 'wheel'>

export class FollowedThere {
  readonly #time: Time
  readonly #answers: Pick<IdempotentResponses, 'running'>
  readonly #followers = new Map<string, FollowerThere>()

  constructor(time: Time, answers: Pick<IdempotentResponses, 'running'>) {
    this.#time = time
    this.#answers = answers
  }

  /** How many relays' followers are known. */
  get count(): number {
    return this.#followers.size
  }

  tell({ follower, keyId, header, body, places, at }: FollowAsk): FollowTold | Promise<FollowTold> {
    // The name alone gives nobody another request's bytes.
    const name = JSON.stringify([follower, keyId, header, body])
    const known = this.#followers.get(name)
    if (known !== undefined) return known.tell(places, at)
    const answer = this.#answers.running({ keyId, headerHash: header })
    // An answer that stands for another relay's is not told on.
    if (places === 0 || answer === undefined || answer.bodyHash !== body || answer.elsewhere !== undefined) return UNKNOWN
    const begun: FollowerThere = new FollowerThere(this.#time, answer, () => void this.#followers.delete(name))
    this.#followers.set(name, begun)
    return begun.tell(places, at)
  }
}

type Held = Readonly<{ at: number; tell: (told: FollowTold) => void }>

class FollowerThere implements Follower, Timed {
  tick = NO_TICK
  readonly #time: Time
  readonly #answer: RunningAnswer
  readonly #onEnd: () => void
  readonly #places: JoinedPlace[] = []
  /** How many bytes the other relay is known to have. */
  #at = 0
  /** The bytes that have no room in the answer and that the other relay does not have yet. */
  #passed: PassedBytes | undefined
  #isBehind = false
  #hasToldStream = false
  #held: Held | undefined

  constructor(time: Time, answer: RunningAnswer, onEnd: () => void) {
    this.#time = time
    this.#answer = answer
    this.#onEnd = onEnd
    answer.follow(this)
    answer.shown().then(
      () => this.grew(),
      () => undefined,
    )
  }

  tell(places: number, at: number | undefined): FollowTold | Promise<FollowTold> {
    this.#wait(SILENCE_MS)
    while (this.#places.length > places) this.#places.pop()?.leave()
    for (let place = this.#joinOne(places, at); place !== undefined; place = this.#joinOne(places, at)) this.#places.push(place)
    const count = this.#places.length
    if (count === 0) this.#end()
    if (at === undefined || count === 0) return this.#told({ kind: 'places', places: count })
    this.#release({ kind: 'nothing' })
    this.#forget(at)
    const state = this.#stateAt(at)
    if (state !== undefined) return this.#told(state)
    const { promise, resolve } = Promise.withResolvers<FollowTold>()
    this.#held = { at, tell: resolve }
    this.#wait(HOLD_MS)
    return promise
  }

  grew(): void {
    const state = this.#held && this.#stateAt(this.#held.at)
    if (state !== undefined) this.#release(state)
  }

  passed(bytes: Uint8Array): void {
    if (!this.#isBehind) this.#passed ??= this.#unreadSoFar()
    if (this.#passed?.add(bytes) !== true) {
      this.#isBehind = true
      this.#passed = undefined
    }
    this.grew()
  }

  onTime(): void {
    // The whole of what was written is there, so a heartbeat stands between two of its pieces.
    if (this.#held === undefined) this.#end()
    else this.#release({ kind: 'nothing', heartbeat: this.#answer.heartbeat()?.slice() })
  }

  /** Only a question for places alone takes more of them. */
  #joinOne(places: number, at: number | undefined): JoinedPlace | undefined {
    return at === undefined && this.#places.length < places ? this.#answer.join() : undefined
  }

  /** Undefined: there is nothing to say yet. */
  #stateAt(at: number): FollowState | undefined {
    const { known, hasEnded, length } = this.#answer
    if (known === undefined) return undefined
    if (known instanceof Refusal) {
      const { name, message, retryAfterSeconds, errorCode } = known
      return { kind: 'refused', name, message, retryAfterSeconds, errorCode }
    }
    if (known !== 'stream')
      return { kind: 'answer', status: known.head.status, contentType: known.head.contentType, bytes: known.bytes.slice() }
    const bytes = this.#bytesAt(at)
    if (bytes !== undefined) return { kind: 'bytes', at, bytes }
    if (this.#isBehind || at !== (this.#passed?.end ?? length)) return { kind: 'broken' }
    if (hasEnded) return { kind: 'ended' }
    if (this.#hasToldStream) return undefined
    this.#hasToldStream = true
    return { kind: 'nothing' }
  }

  #bytesAt(at: number): Uint8Array | undefined {
    return this.#passed === undefined ? this.#answer.read(at, PIECE_BYTES)?.slice() : this.#passed.read(at, PIECE_BYTES)
  }

  /** What the answer had room for and the other relay does not have yet; undefined: it is more than is kept. The answer still has all of it when the first bytes come that it has no room for. */
  #unreadSoFar(): PassedBytes | undefined {
    const passed = new PassedBytes(this.#at, PASSED_BYTES_MAX)
    return passed.add(this.#answer.read(this.#at, this.#answer.length) ?? EMPTY) ? passed : undefined
  }

  /** The other relay has all before `at`. */
  #forget(at: number): void {
    this.#at = at
    this.#passed?.forget(at)
  }

  #release(state: FollowState): void {
    const held = this.#held
    this.#held = undefined
    if (held === undefined) return
    this.#wait(SILENCE_MS)
    held.tell(this.#told(state))
  }

  #told(state: FollowState): FollowTold {
    const { requestId, known } = this.#answer
    // The answer that a claim found kept is that of an earlier request.
    const isFinished = known !== undefined && known !== 'stream' && !(known instanceof Refusal)
    return { requestId: isFinished ? known.head.requestId : requestId, isStream: known === 'stream', state }
  }

  #end(): void {
    this.#release({ kind: 'unknown' })
    this.#time.wheel.drop(this)
    this.#answer.unfollow(this)
    for (const place of this.#places.splice(0)) place.leave()
    this.#onEnd()
  }

  #wait(ms: number): void {
    this.#time.wheel.set(this, this.#time.clock.monotonicMs() + ms)
  }
}

const EMPTY = new Uint8Array()
