/** Reads a body chunk by chunk to its end, or to where its reader has enough: the one loop of all bodies that are taken whole, clients' and upstreams'. */

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

/** The whole of a body of at most `bytesMax`; else why there is none. `grow` hears how long it is by now and may stop it. Lets the body go. */
export async function readWhole<Stop = never>(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
  grow: (length: number) => Stop | undefined = () => undefined,
): Promise<Uint8Array | 'broken' | 'too-large' | Stop> {
  const reader = body.getReader()
  const parts = new Parts()
  const end = await readChunks<Stop | 'too-large'>(reader, (chunk) => {
    parts.add(chunk)
    return parts.length > bytesMax ? 'too-large' : grow(parts.length)
  })
  if (end === 'ended') return parts.joined()
  await reader.cancel().catch(() => undefined)
  return end
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
