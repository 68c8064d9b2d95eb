/** Reads a body to its end, or until its reader has enough: clients' bodies, which are pulled, and upstreams', which are pushed. */

import type { Body } from './upstream.ts'

/** The part of a stream's reader that is used here. */
export type ChunkReader = Readonly<{ read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> }>

/**
 * `take` gets each chunk, and returns undefined to go on or anything else to stop there. `ended`: the body ended in order; `broken`: it was reset, cut short or
 * cancelled. Never rejects. The caller releases the reader.
 */
export async function readChunks<Stop>(
  reader: ChunkReader,
  take: (chunk: Uint8Array) => Stop | undefined | Promise<Stop | undefined>,
): Promise<'ended' | 'broken' | Stop> {
  try {
    for (let read = await reader.read(); read.value !== undefined; read = await reader.read()) {
      const stop = await take(read.value)
      if (stop !== undefined) return stop
    }
    return 'ended'
  } catch {
    return 'broken'
  }
}

/**
 * All of an upstream's body of at most `bytesMax`; otherwise why there is none, and the body is cancelled. `grow` gets the length so far, and may stop the reading or
 * make it wait.
 */
export function readParts<Stop = never>(
  body: Body,
  bytesMax: number,
  grow: (length: number) => Stop | Promise<void> | undefined,
): Promise<Parts | 'broken' | 'too-large' | Stop> {
  const { promise, resolve, reject } = Promise.withResolvers<Parts | 'broken' | 'too-large' | Stop>()
  const parts = new Parts()
  body.take({
    data(piece) {
      parts.add(piece)
      const held = parts.length > bytesMax ? 'too-large' : grow(parts.length)
      if (held === undefined) return
      if (held instanceof Promise) {
        body.pause()
        held.then(() => body.resume()).catch(reject)
        return
      }
      body.cancel()
      resolve(held)
    },
    end: () => resolve(parts),
    broken: () => resolve('broken'),
  })
  return promise
}

/** All of an upstream's body, in one piece. */
export async function readWhole(body: Body, bytesMax: number): Promise<Uint8Array | 'broken' | 'too-large'> {
  const parts = await readParts<never>(body, bytesMax, () => undefined)
  return parts instanceof Parts ? parts.joined() : parts
}

/** Pieces from this size on are kept as they are; smaller ones are joined, since a piece takes some hundred bytes besides its content. */
const PIECE_BYTES = 16 * 1024
const SMALL_PIECES_MAX = 64

/** Chunks that become one body. */
export class Parts {
  #pieces: Uint8Array[] = []
  #small: Uint8Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(part: Uint8Array): void {
    this.#length += part.byteLength
    if (part.byteLength >= PIECE_BYTES) {
      this.#gather()
      // A piece with a buffer of its own keeps no other bytes in memory, and can be transferred to a thread without a copy.
      this.#pieces.push(part.byteLength === part.buffer.byteLength ? part : new Uint8Array(part))
    } else if (this.#small.push(part) === SMALL_PIECES_MAX) this.#gather()
  }

  /** The pieces in the order in which they came; empty when nothing came. */
  pieces(): readonly Uint8Array[] {
    this.#gather()
    return this.#pieces
  }

  joined(): Uint8Array {
    const [only, ...more] = [...this.#pieces, ...this.#small]
    return only !== undefined && more.length === 0 ? only : Buffer.concat([...this.#pieces, ...this.#small])
  }

  #gather(): void {
    const [only, ...more] = this.#small
    if (only === undefined) return
    this.#pieces.push(more.length === 0 ? only : Buffer.concat(this.#small))
    this.#small = []
  }
}
