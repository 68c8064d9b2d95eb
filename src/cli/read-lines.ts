/** The lines of a file as bytes, each with its break, a block at a time: a statement may be larger than the memory. */

import { closeSync, openSync, readSync } from 'node:fs'

const BLOCK_BYTES = 1 << 18
const BREAK = 10

/** Yields one line after the other; throws the file system's errors. */
export function* readLines(path: string): Generator<Uint8Array> {
  const file = openSync(path, 'r')
  try {
    const block = Buffer.alloc(BLOCK_BYTES)
    let rest = Buffer.alloc(0)
    for (let length = readSync(file, block); length > 0; length = readSync(file, block)) {
      const bytes = Buffer.concat([rest, block.subarray(0, length)])
      let start = 0
      for (let end = bytes.indexOf(BREAK); end >= 0; end = bytes.indexOf(BREAK, start)) {
        yield bytes.subarray(start, end + 1)
        start = end + 1
      }
      rest = Buffer.from(bytes.subarray(start))
    }
    if (rest.length > 0) yield rest
  } finally {
    closeSync(file)
  }
}
