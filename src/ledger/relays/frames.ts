/** Messages over the socket between the ledger process and its relays: each a length and the value behind it, in the form in which values cross threads. */

import { deserialize, serialize } from 'bun:jsc'
import type { Socket } from 'bun'

const HEAD_BYTES = 4
/** The longest message that is accepted; the largest real one has an answer of about twelve megabytes. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024

function frameOf(message: unknown): Uint8Array {
  const body = new Uint8Array(serialize(message))
  const frame = new Uint8Array(HEAD_BYTES + body.byteLength)
  new DataView(frame.buffer).setUint32(0, body.byteLength, true)
  frame.set(body, HEAD_BYTES)
  return frame
}

/** Puts messages together that arrive in pieces. */
export class FrameReader {
  #pieces: Uint8Array[] = []
  #bytes = 0
  /** How many bytes the next message needs at least. */
  #needed = HEAD_BYTES

  /** Takes a piece, and returns the messages that are whole now. Throws if the bytes are no frame of ours. */
  read(chunk: Uint8Array): readonly unknown[] {
    // The chunk is copied, because its buffer is used again.
    this.#pieces.push(chunk.slice())
    this.#bytes += chunk.byteLength
    if (this.#bytes < this.#needed) return []
    const bytes = Buffer.concat(this.#pieces)
    const messages: unknown[] = []
    let at = 0
    this.#needed = HEAD_BYTES
    while (bytes.byteLength - at >= HEAD_BYTES) {
      const length = bytes.readUInt32LE(at)
      if (length > FRAME_BYTES_MAX) throw new Error(`a message of ${length} bytes`)
      const end = at + HEAD_BYTES + length
      if (end > bytes.byteLength) {
        this.#needed = HEAD_BYTES + length
        break
      }
      messages.push(deserialize(bytes.subarray(at + HEAD_BYTES, end)))
      at = end
    }
    this.#pieces = at === bytes.byteLength ? [] : [bytes.subarray(at)]
    this.#bytes = bytes.byteLength - at
    return messages
  }
}

/** Writes frames to a socket; bytes that it does not take at once are written when it has room. */
export class FrameWriter {
  readonly #socket: Pick<Socket<unknown>, 'write'>
  #unsent: Uint8Array[] = []
  #unsentBytes = 0

  constructor(socket: Pick<Socket<unknown>, 'write'>) {
    this.#socket = socket
  }

  get unsentBytes(): number {
    return this.#unsentBytes
  }

  write(message: unknown): void {
    this.#unsent.push(frameOf(message))
    this.#unsentBytes += this.#unsent.at(-1)?.byteLength ?? 0
    if (this.#unsent.length === 1) this.drain()
  }

  drain(): void {
    for (let [first] = this.#unsent; first !== undefined; [first] = this.#unsent) {
      const written = Math.max(0, this.#socket.write(first))
      this.#unsentBytes -= written
      if (written < first.byteLength) {
        this.#unsent[0] = first.subarray(written)
        return
      }
      this.#unsent.shift()
    }
  }
}
