/** An answer that was compressed although we asked for none: its bytes, as they come. Rules: faults.md "Upstream calls". */

type Encoding = ConstructorParameters<typeof DecompressionStream>[0]

const FORMATS: Readonly<Record<string, Encoding>> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'brotli', zstd: 'zstd' }

/** An encoding that nobody knows is left as it is: it will be no message and no stream. */
export function inflated(body: ReadableStream<Uint8Array>, encoding: string | undefined): ReadableStream<Uint8Array> {
  const format = encoding === undefined ? undefined : FORMATS[encoding.toLowerCase()]
  return format === undefined ? body : body.pipeThrough(new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>)
}
