/** Reads a body to its end, or to where its reader has enough: clients' bodies, which are pulled, and upstreams', which are pushed. */

import type { Body } from './upstream.ts'

/** What a stream's reader offers. */
export type ChunkReader = Readonly<{ read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> }>

/**
 * `take` gets each chunk and gives undefined to go on, anything else to stop there. `ended`: in order; `broken`: reset, cut short or cancelled. Never rejects.
 * The reader is the caller's to let go.
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
 * The whole of an upstream's body of at most `bytesMax`; else why there is none, and the body is let go. `grow` hears how long it is by now and may stop it.
 */
export function readWhole<Stop = never>(
  body: Body,
  bytesMax: number,
  grow: (length: number) => Stop | undefined = () => undefined,
): Promise<Uint8Array | 'broken' | 'too-large' | Stop> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array | 'broken' | 'too-large' | Stop>()
  const parts = new Parts()
  body.take({
    data(piece) {
      parts.add(piece)
      const stop = parts.length > bytesMax ? 'too-large' : grow(parts.length)
      if (stop === undefined) return
      body.cancel()
      resolve(stop)
    },
    end: () => resolve(parts.joined()),
    broken: () => resolve('broken'),
  })
  return promise
}

/** Chunks that become one piece. */
export class Parts {
  readonly #parts: Uint8Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(part: Uint8Array): void {
    this.#parts.push(part)
    this.#length += part.byteLength
  }

  joined(): Uint8Array {
    const [only, ...more] = this.#parts
    return only !== undefined && more.length === 0 ? only : Buffer.concat(this.#parts)
  }
}
