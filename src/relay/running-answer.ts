/**
 * The answer of a request with an Idempotency-Key while it runs: its bytes so far, and the repetitions that have joined it. A joined request waits for a
 * whole answer, and takes a stream's bytes at its own pace. Rules: requests.md "Joined answers".
 */

import { Refusal } from '../core/refusal.ts'
import type { Follower, PlacesElsewhere } from './follower.ts'

export type AnswerHead = Readonly<{ status: number; contentType: string; requestId: string }>
export type FinishedAnswer = Readonly<{ kind: 'finished'; bodyHash: string; head: AnswerHead; bytes: Uint8Array }>

/** What a repetition gets: a stream to take part in, an answer with its end, or the first request's error. */
export type ShownAnswer = Omit<FinishedAnswer, 'bodyHash'>
export type Shown = 'stream' | ShownAnswer | Refusal

/** Memory for the bytes: `take` may refuse, and then nothing has changed. */
type AnswerRoom = Readonly<{ take(bytes: number): boolean; give(bytes: number): void }>

/** A repetition's place in this answer; `leave` counts once. */
export type JoinedPlace = Readonly<{ answer: RunningAnswer; leave(): void }>

const JOINED_MAX = 16
const FIRST_BYTES = 4_096

export type RunningAnswerParts = Readonly<{
  /** The id of the request that is answered. */
  requestId: string
  bodyHash: string
  room: AnswerRoom
  /** The most that `room` can ever give. */
  roomBytesMax: number
  /** Called when the header is used up, or free again. `bytes`: kept from now on, in their room; undefined where they are not kept. */
  onEnd: (head: AnswerHead | undefined, bytes: Uint8Array | undefined) => void
}>

export class RunningAnswer {
  readonly kind = 'running'
  readonly #parts: RunningAnswerParts
  /** Present where this answer stands for one of another relay. */
  elsewhere: PlacesElsewhere | undefined
  /** Whether the rest of the stream is lost. */
  isBroken = false
  #requestId: string
  /** Undefined once the answer has outgrown its room, and when it has ended unkept without a joined request. */
  #bytes: Uint8Array | undefined = EMPTY
  #length = 0
  #hasOutgrown = false
  #hasEnded = false
  /** Whether the bytes were handed on with their room. */
  #isKept = false
  #joined = 0
  readonly #followers = new Set<Follower>()
  #shown: Shown | undefined
  #waiting: PromiseWithResolvers<Shown> | undefined
  #heartbeat = NO_HEARTBEAT

  constructor(parts: RunningAnswerParts) {
    this.#parts = parts
    this.#requestId = parts.requestId
  }

  get requestId(): string {
    return this.#requestId
  }

  /** To be called before anything is shown, where the answer is that of another request. */
  standFor(requestId: string): void {
    this.#requestId = requestId
  }

  /** What repetitions get, as soon as it is known. */
  get known(): Shown | undefined {
    return this.#shown
  }

  get bodyHash(): string {
    return this.#parts.bodyHash
  }

  /** Bytes that were recorded. */
  get length(): number {
    return this.#length
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The bytes sent so far are no longer kept, and more are to come. */
  get hasOutgrown(): boolean {
    return this.#hasOutgrown && !this.#hasEnded
  }

  /** How many repetitions have a place. */
  get joined(): number {
    return this.#joined
  }

  /** Whether a repetition has joined the answer: its bytes are needed then, though it may have ended. */
  get isWaitedFor(): boolean {
    return this.#joined > 0
  }

  /** Undefined: all places are taken, the answer has ended, or the bytes sent so far are no longer kept. */
  join(): JoinedPlace | undefined {
    if (this.#joined >= JOINED_MAX || this.#hasOutgrown || this.#hasEnded) return undefined
    this.#joined++
    let isHere = true
    return {
      answer: this,
      leave: () => {
        if (!isHere) return
        isHere = false
        this.#joined--
        this.#release()
      },
    }
  }

  /** Resolves with the repetition's answer as soon as it is known. */
  shown(): Promise<Shown> {
    if (this.#shown !== undefined) return Promise.resolve(this.#shown)
    this.#waiting ??= Promise.withResolvers()
    return this.#waiting.promise
  }

  follow(follower: Follower): void {
    this.#followers.add(follower)
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower)
  }

  /** At most `bytesMax` of what was recorded, from `at` on; undefined: there is nothing yet, or nothing any more. */
  read(at: number, bytesMax: number): Uint8Array | undefined {
    return at < this.#length ? this.#bytes?.subarray(at, Math.min(this.#length, at + bytesMax)) : undefined
  }

  /** For a follower that has sent all that was recorded; undefined when the stream is about to end. */
  heartbeat(): Uint8Array | undefined {
    return this.#heartbeat()
  }

  /** Called when a stream's head has been sent. `heartbeat`: gives the stream's own, between two of its pieces. */
  begin(heartbeat: () => Uint8Array | undefined): void {
    this.#heartbeat = heartbeat
    this.#show('stream')
  }

  /** Records a copy of the bytes. Bytes that do not fit are passed to the followers that have taken all before them, and the request goes on. */
  add(bytes: Uint8Array): void {
    if (this.#record(bytes)) for (const follower of this.#followers) follower.grew()
    else {
      for (const follower of this.#followers) follower.passed(bytes)
      this.#giveUp()
    }
  }

  /**
   * Ends the answer, and returns the bytes that repetitions get from now on, or undefined where they have no room. `whole`: all of an answer in one piece, of which
   * nothing was added before; requests that have joined get it also where it has no room.
   */
  finish(head: AnswerHead, whole?: Uint8Array): Uint8Array | undefined {
    if (this.#hasEnded) return undefined
    if (whole !== undefined && !this.#adopt(whole)) this.#giveUp()
    const bytes = this.#trimmed()
    this.#isKept = bytes !== undefined
    const given = bytes ?? whole
    this.#end(given === undefined ? new Refusal('repetitionRunning') : { kind: 'finished', head, bytes: given }, head, bytes)
    return bytes
  }

  /**
   * Ends the answer without keeping it, and frees its header: repetitions that have joined get `shown`, unless they have the end of a stream. Does nothing
   * once the answer has ended.
   */
  drop(shown: ShownAnswer | Refusal = new Refusal('internal')): void {
    if (!this.#hasEnded) this.#end(shown, undefined, undefined)
  }

  /** Ends an answer whose rest is lost. */
  breakOff(): void {
    this.isBroken = true
    this.drop(new Refusal('repetitionRunning'))
  }

  #end(shown: Shown, head: AnswerHead | undefined, bytes: Uint8Array | undefined): void {
    this.#hasEnded = true
    // A kept answer outlives its stream, and must not keep the stream in memory.
    this.#heartbeat = NO_HEARTBEAT
    this.#parts.onEnd(head, bytes)
    this.#show(shown)
    for (const follower of this.#followers) follower.grew()
    this.#release()
  }

  /** Only the first call counts: a stream that has begun is never replaced by an error; its own bytes end it. */
  #show(shown: Shown): void {
    this.#shown ??= shown
    this.#waiting?.resolve(this.#shown)
  }

  /** Takes over the whole answer. Bytes with a buffer of their own are not copied: a copy takes the loop a millisecond for each megabyte. */
  #adopt(whole: Uint8Array): boolean {
    if (whole.byteLength < whole.buffer.byteLength) return this.#record(whole)
    if (!this.#parts.room.take(whole.byteLength)) return false
    this.#bytes = whole
    this.#length = whole.byteLength
    return true
  }

  #record(added: Uint8Array): boolean {
    if (this.#bytes === undefined) return false
    const length = this.#length + added.byteLength
    if (length > this.#bytes.byteLength && !this.#grow(length)) return false
    this.#bytes.set(added, this.#length)
    this.#length = length
    return true
  }

  #grow(length: number): boolean {
    const old = this.#bytes ?? EMPTY
    const capacity = Math.max(FIRST_BYTES, length, Math.min(old.byteLength * 2, this.#parts.roomBytesMax))
    if (!this.#parts.room.take(capacity - old.byteLength)) return false
    this.#bytes = new Uint8Array(capacity)
    this.#bytes.set(old.subarray(0, this.#length))
    return true
  }

  #trimmed(): Uint8Array | undefined {
    if (this.#bytes === undefined || this.#bytes.byteLength === this.#length) return this.#bytes
    this.#parts.room.give(this.#bytes.byteLength - this.#length)
    this.#bytes = this.#bytes.slice(0, this.#length)
    return this.#bytes
  }

  /** The answer goes on without being kept, and stays known as running. */
  #giveUp(): void {
    this.#hasOutgrown = true
    this.#parts.room.give(this.#bytes?.byteLength ?? 0)
    this.#bytes = undefined
  }

  /** The bytes of an answer that is not kept stay until the last repetition has read them. */
  #release(): void {
    if (!this.#hasEnded || this.#isKept || this.#joined > 0) return
    this.#parts.room.give(this.#bytes?.byteLength ?? 0)
    this.#bytes = undefined
  }
}

const EMPTY = new Uint8Array()
const NO_HEARTBEAT = (): Uint8Array | undefined => undefined
