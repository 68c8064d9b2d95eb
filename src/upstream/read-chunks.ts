/** Reads a body chunk by chunk to its end, or to where its reader has enough: of what is pulled and has to be counted. */

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
