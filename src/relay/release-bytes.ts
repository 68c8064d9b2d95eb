/**
 * Releases the memory of large bytes as soon as they are used. The collector would do it some thousand events later, and until then every read would take fresh
 * pages: a tenth of what an event of a burst costs. Rules: platform.md "Sockets".
 */

/** Less is left to the collector. */
const LARGE_BYTES = 16 * 1024

/** The bytes, and all others in the same buffer, must not be used afterwards. */
export function releaseBytes(bytes: Uint8Array): void {
  if (bytes.length >= LARGE_BYTES && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}
