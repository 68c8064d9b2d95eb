/** How long one flush of this disk takes: a page is appended to a file, and `fdatasync` follows, as in a commit. */

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const PAGE = new Uint8Array(4_096)

/** The microseconds of each flush. */
export function flushesUs(folder: string, count: number): readonly number[] {
  const file = openSync(join(folder, 'flush'), 'w')
  const took = Array.from({ length: count }, () => {
    const from = performance.now()
    writeSync(file, PAGE)
    fdatasyncSync(file)
    return (performance.now() - from) * 1000
  })
  closeSync(file)
  return took
}
