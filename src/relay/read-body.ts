/**
 * Reads a client's body once: bounded in bytes, memory and time, decoded.
 * Rules: contract.md "Limits"; requests.md "Bodies", "JSON bounds", "Slow bodies".
 */

import type { Limits } from '../core/limits.ts'
import { Refusal } from '../core/refusal.ts'
import { NO_TICK, type Timed } from '../core/timer-wheel.ts'
import { Parts, readChunks } from '../upstream/read-chunks.ts'
import type { World } from '../world.ts'
import type { BodyLease } from './body-memory.ts'
import { type Encoding, isEncoding, makeDecoder } from './inflate.ts'

/** A body must bring at least this much in every window (requests.md "Slow bodies"); a body that has stalled is refused, however much of it is here. */
export type Pace = Readonly<{ windowMs: number; windowBytesMin: number }>

const PACE: Pace = { windowMs: 10_000, windowBytesMin: 5_120 }

type Bounds = Pick<Limits, 'bodyBytes' | 'totalTimeoutMs'>
type Time = Pick<World, 'clock' | 'wheel'>

const TOO_SLOW = new Refusal('invalidRequest', { message: 'request body was not received in time', leavesBody: true })

const bad = (message: string): Refusal => new Refusal('invalidRequest', { message })

/** The refusal for a client that left, or that sent what no decoder takes. */
export const UNREADABLE = bad('Invalid request body: it could not be read')

/** The pieces of a body, in order: a single one where the body is small enough to be joined here, none where it is empty. */
export type Pieces = readonly Uint8Array[]

/** Joining more than this would hold the loop: fresh memory takes a millisecond a MiB. */
const JOINED_BYTES_MAX = 256 * 1024

/**
 * `lease` grows with the body, and the caller releases it: the body stays in memory as long as the request runs. A refusal that follows from the head alone is returned
 * at once, without a promise.
 */
export function readBody(
  request: Request,
  time: Time,
  bounds: Bounds,
  lease: BodyLease,
  pace: Pace = PACE,
): Refusal | Promise<Pieces | Refusal> {
  const { headers } = request
  const length = headers.get('content-length') ?? ''
  const said = Number(length)
  if (said > bounds.bodyBytes) return new Refusal('bodyTooLarge')
  const encoding = (headers.get('content-encoding') ?? '').trim().toLowerCase()
  if (!isEncoding(encoding)) return bad('content-encoding: Input should be one of gzip, deflate, br, zstd')
  const isPlain = encoding === '' || encoding === 'identity'
  const isWhole = isPlain && LENGTH.test(length) && said <= WHOLE_BYTES_MAX
  const read = (): Promise<Pieces | Refusal> =>
    isWhole ? takeWhole(request, said, time, bounds, lease, pace) : collect(request, encoding, time, bounds, lease, pace)
  const room = lease.room(said, time)
  return room === undefined ? read() : room.then(read)
}

/** Reads a body to its end, and neither decodes nor keeps it. Returns the refusal for its size or for its time. */
export function countBody(request: Request, time: Time, bounds: Bounds, pace: Pace = PACE): Refusal | Promise<Refusal | undefined> {
  if (Number(request.headers.get('content-length') ?? '') > bounds.bodyBytes) return new Refusal('bodyTooLarge')
  return counted(request, time, bounds, pace)
}

const counted = (request: Request, time: Time, bounds: Bounds, pace: Pace): Promise<Refusal | undefined> =>
  receive(request, time, bounds, pace, (_, sentBytes) => (sentBytes > bounds.bodyBytes ? new Refusal('bodyTooLarge') : undefined))

/** A body up to this size whose length is known is taken in one piece: no bytes have to be counted while it comes, and a reader costs more than the rest of the gateway. */
const WHOLE_BYTES_MAX = 64 * 1024
const LENGTH = /^\d{1,5}$/

/** Progress within the body is not visible, so it gets as many windows as a steady body of its length would need. */
async function takeWhole(
  request: Request,
  length: number,
  time: Time,
  { totalTimeoutMs }: Pick<Bounds, 'totalTimeoutMs'>,
  lease: BodyLease,
  { windowMs, windowBytesMin }: Pace,
): Promise<Pieces | Refusal> {
  const refusal = lease.grow(length)
  if (refusal !== undefined) return refusal
  const { promise, resolve } = Promise.withResolvers<Uint8Array | Refusal>()
  const slowest = { windowMs: windowMs * Math.max(1, Math.ceil(length / windowBytesMin)), windowBytesMin: 1 }
  const watch = new Watch(time, totalTimeoutMs, slowest, resolve)
  request.bytes().then(resolve, () => resolve(UNREADABLE))
  const bytes = await promise
  watch.end()
  return bytes instanceof Refusal ? bytes : [bytes]
}

async function collect(
  request: Request,
  encoding: Encoding,
  time: Time,
  bounds: Bounds,
  lease: BodyLease,
  pace: Pace,
): Promise<Pieces | Refusal> {
  const parts = new Parts()
  let sentLength = 0
  // The larger of the two counts, the bytes that were sent and the bytes that came out: bytes that decode to nothing are a load, too, and nothing else bounds them.
  const refuse = (length: number): Refusal | undefined => {
    const bytes = Math.max(length, sentLength)
    return bytes > bounds.bodyBytes ? new Refusal('bodyTooLarge') : lease.grow(bytes)
  }
  const decoder = makeDecoder(encoding, (bytes) => {
    const refusal = refuse(parts.length + bytes.byteLength)
    if (refusal === undefined) parts.add(bytes)
    return refusal
  })
  const stopped = await receive(request, time, bounds, pace, (chunk, sentBytes) => {
    sentLength = sentBytes
    return refuse(parts.length) ?? decoder.write(chunk)
  })
  const refusal = stopped ?? (await decoder.end())
  decoder.close()
  return refusal ?? (parts.length > JOINED_BYTES_MAX ? parts.pieces() : [parts.joined()])
}

/** Takes a body chunk by chunk within its time; `sentBytes`: so many have come by now. Returns the refusal that ended the body; undefined: it came to its end. */
async function receive(
  { body }: Pick<Request, 'body'>,
  time: Time,
  { totalTimeoutMs }: Pick<Bounds, 'totalTimeoutMs'>,
  pace: Pace,
  take: (chunk: Uint8Array, sentBytes: number) => Refusal | undefined | Promise<Refusal | undefined>,
): Promise<Refusal | undefined> {
  if (body === null) return undefined
  const reader = body.getReader()
  let stopped: Refusal | undefined
  const watch = new Watch(time, totalTimeoutMs, pace, (refusal) => {
    stopped ??= refusal
    reader.cancel().catch(() => undefined)
  })
  const end = await readChunks(reader, (chunk) => {
    watch.length += chunk.byteLength
    return take(chunk, watch.length)
  })
  watch.end()
  reader.releaseLock()
  if (stopped !== undefined || end === 'ended') return stopped
  return end === 'broken' ? UNREADABLE : end
}

/** Stops a body that is too slow, and one that takes as long as a whole request may. */
class Watch implements Timed {
  tick = NO_TICK
  /** Counts the bytes that have come. */
  length = 0
  readonly #wheel: World['wheel']
  readonly #pace: Pace
  readonly #stop: (refusal: Refusal) => void
  readonly #lateAtMs: number
  #windowEndsAtMs: number
  #lengthBefore = 0

  constructor({ clock, wheel }: Time, totalMs: number, pace: Pace, stop: (refusal: Refusal) => void) {
    const now = clock.monotonicMs()
    this.#wheel = wheel
    this.#pace = pace
    this.#stop = stop
    this.#lateAtMs = now + totalMs
    this.#windowEndsAtMs = now + pace.windowMs
    this.#wait()
  }

  onTime(nowMs: number): void {
    if (nowMs >= this.#lateAtMs) {
      this.#stop(new Refusal('timedOut', { leavesBody: true }))
      return
    }
    if (nowMs >= this.#windowEndsAtMs) {
      if (this.length - this.#lengthBefore < this.#pace.windowBytesMin) this.#stop(TOO_SLOW)
      this.#lengthBefore = this.length
      this.#windowEndsAtMs = nowMs + this.#pace.windowMs
    }
    this.#wait()
  }

  end(): void {
    this.#wheel.drop(this)
  }

  #wait(): void {
    this.#wheel.set(this, Math.min(this.#lateAtMs, this.#windowEndsAtMs))
  }
}
