/**
 * A stream that another relay gives, for those who repeat its request here: asked for piece by piece, and recorded in an answer that stands for the other one. Rules: requests.md
 * "Joined answers"; processes.md "Shared".
 */

import { REFUSALS, Refusal, type RefusalName } from '../core/refusal.ts'
import type { FollowReply, FollowState } from '../ledger/shared-answers.ts'
import type { World } from '../world.ts'
import { pause } from './answer-elsewhere.ts'
import type { Follow } from './answer-store.ts'
import type { PlacesElsewhere } from './follower.ts'
import { type Elsewhere, shownOf } from './idempotency.ts'

/** How long the ledger process, or the other relay's connection, may be away: longer than it takes to begin it anew. */
const AWAY_MS_MAX = 10_000
const PAUSE_MS = 50

type Waiting = Pick<World, 'clock' | 'wheel'>

export class FollowElsewhere implements PlacesElsewhere {
  readonly #world: Waiting
  readonly #elsewhere: Elsewhere
  readonly #follow: Follow
  readonly #follower = Bun.randomUUIDv7()
  #owner: string | undefined
  #at = 0
  #awaySinceMs: number | undefined
  #heartbeat: Uint8Array | undefined

  constructor(world: Waiting, elsewhere: Elsewhere, follow: Follow) {
    this.#world = world
    this.#elsewhere = elsewhere
    this.#follow = follow
  }

  /** The place here is taken before, so that also those count who came while it was not known yet that the request runs elsewhere. */
  async take(): Promise<boolean> {
    const places = this.#elsewhere.answer.joined
    const reply = await this.#ask(places, undefined)
    const isFree = typeof reply === 'object' && reply.state.kind === 'places' && reply.state.places >= places
    if (isFree) this.#adopt(reply)
    // Where the request has just ended, what is kept of it is looked up.
    return isFree || (this.#at === 0 && (reply === 'gone' || isUnknown(reply)))
  }

  /** Ends the answer that stands here. Rejects by bugs only; the answer has ended then, too. */
  async run(): Promise<void> {
    const { answer } = this.#elsewhere
    try {
      while (answer.isWaitedFor && !answer.hasEnded) {
        const reply = await this.#ask(answer.joined, this.#at)
        if (reply === 'unavailable') await this.#onUnavailable()
        else if (reply === 'gone' || isUnknown(reply)) await this.#onGone()
        else this.#hear(reply)
      }
    } catch (bug) {
      // A stream that has begun must not end as if it were whole.
      answer.breakOff()
      throw bug
    } finally {
      answer.drop(new Refusal('repetitionRunning'))
      this.#ask(0, undefined).catch(() => undefined)
    }
  }

  async #ask(places: number, at: number | undefined): Promise<FollowReply> {
    return await this.#follow({ follower: this.#follower, owner: this.#owner, places, at })
  }

  #hear({ owner, requestId, isStream, state }: Exclude<FollowReply, string>): void {
    const { answer } = this.#elsewhere
    this.#awaySinceMs = undefined
    this.#adopt({ owner, requestId })
    if (isStream && answer.known === undefined) answer.begin(() => this.#heartbeat)
    this.#obey(state, requestId)
  }

  /** From now on the same relay is asked, which knows how the request ended also when its claim has ended. */
  #adopt({ owner, requestId }: Pick<Exclude<FollowReply, string>, 'owner' | 'requestId'>): void {
    if (this.#owner !== undefined) return
    this.#owner = owner
    this.#elsewhere.answer.standFor(requestId)
  }

  #obey(state: FollowState, requestId: string): void {
    const { answer } = this.#elsewhere
    // Between two pieces of the stream only: one that is cut goes on with the next bytes.
    this.#heartbeat = state.kind === 'nothing' ? state.heartbeat : undefined
    switch (state.kind) {
      case 'bytes':
        if (state.at === this.#at) {
          this.#at += state.bytes.byteLength
          answer.add(state.bytes)
        } else answer.breakOff()
        break
      case 'ended':
        answer.drop()
        break
      case 'answer':
        answer.drop({ kind: 'finished', head: { status: state.status, contentType: state.contentType, requestId }, bytes: state.bytes })
        break
      case 'refused': {
        const { name, message, retryAfterSeconds, errorCode } = state
        const more = { message, ...(retryAfterSeconds && { retryAfterSeconds }), ...(errorCode && { errorCode }) }
        answer.drop(new Refusal(isRefusal(name) ? name : 'internal', more))
        break
      }
      case 'broken':
      case 'places':
        answer.breakOff()
        break
      default:
    }
  }

  async #onUnavailable(): Promise<void> {
    const nowMs = this.#world.clock.monotonicMs()
    this.#awaySinceMs ??= nowMs
    if (nowMs - this.#awaySinceMs > AWAY_MS_MAX) this.#elsewhere.answer.breakOff()
    else await pause(this.#world, PAUSE_MS)
  }

  /** A stream that has begun is lost; otherwise the answer may be kept, or another request have the claim. */
  async #onGone(): Promise<void> {
    const { answer, store } = this.#elsewhere
    if (answer.known !== undefined) return answer.breakOff()
    this.#owner = undefined
    const found = await store.claim()
    if (found.kind === 'running' && found.isSame) {
      // The places count at the relay that has the claim now, or are refused.
      if (!(await this.take())) answer.drop(new Refusal('repetitionRunning'))
      return await this.#onUnavailable()
    }
    // The request has ended without an answer, and it is not known here why.
    if (found.kind === 'claimed') store.release()
    answer.drop(found.kind === 'claimed' ? new Refusal('repetitionRunning') : shownOf(found, answer.bodyHash))
  }
}

const isUnknown = (reply: FollowReply): boolean => typeof reply === 'object' && reply.state.kind === 'unknown'
const isRefusal = (name: string): name is RefusalName => Object.hasOwn(REFUSALS, name)
