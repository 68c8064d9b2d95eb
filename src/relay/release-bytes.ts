/**
 * The memory of large bytes goes back at once when they are used up. The collector comes to it after some thousand more events, and until then every read
 * takes pages that nobody has touched: a tenth of what an event of a burst costs. Rules: platform.md "Sockets".
 */

/** So little is the collector's. */
const LARGE_BYTES = 16 * 1024

/** Nobody may look at them again, nor at anything else in the same memory. */
export function releaseBytes(bytes: Uint8Array): void {
  if (bytes.length >= LARGE_BYTES && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}
