/** A small body, read whole, for routes without a key. Rules: pages.md "Mounting", "Stripe". */

/** The whole body; undefined when it is longer than `bytesMax`, and the rest is then not read. */
export async function boundedBytes(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > bytesMax) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
