/**
 * The body of an answer in one piece. A large one counts as memory until its client has taken it or is gone. It is sent as a stream, since only a stream tells when
 * that is: the server would keep all of it for a client that does not read. A small one fits into what the kernel takes anyway. Rules: requests.md "Memory of bodies".
 */

import type { Refusal } from '../core/refusal.ts'
import type { BodyLease } from './body-memory.ts'

const SMALL_BYTES_MAX = 256 * 1024
const PIECE_BYTES = 64 * 1024

/** The body of a repeated answer. A repetition costs nothing and can be asked for again, so it is refused where it has no room. */
export const repeatedBody = (bytes: Uint8Array, lease: BodyLease): ReturnType<typeof answerBody> | Refusal =>
  (bytes.byteLength > SMALL_BYTES_MAX ? lease.growRepetition(bytes.byteLength) : undefined) ?? answerBody(bytes, lease)

/** The bytes of a large answer stay counted after `lease` is released, until they are sent. */
export function answerBody(bytes: Uint8Array, lease: BodyLease): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (bytes.byteLength <= SMALL_BYTES_MAX) return bytes as Uint8Array<ArrayBuffer>
  const release = lease.keepAnswer(bytes.byteLength)
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.byteLength) controller.enqueue(bytes.subarray(at, at + PIECE_BYTES))
        else {
          release()
          controller.close()
        }
        at += PIECE_BYTES
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  )
}
