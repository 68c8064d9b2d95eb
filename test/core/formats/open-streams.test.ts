/** What an open stream holds between two pieces, so that thousands of them fit into memory: nothing of the piece that has gone to its client. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'

const HEAP = join(import.meta.dir, 'open-streams-heap.ts')

test.each(['messages', 'chat'])('%s: a stream that waits for its next piece holds nothing of the last one', async (format) => {
  const measured = Bun.spawn([process.execPath, HEAP, format], { stdout: 'pipe', stderr: 'inherit' })
  const { pieceBytes, heldBytes } = JSON.parse(await measured.stdout.text())
  expect(await measured.exited).toBe(0)
  expect(heldBytes).toBeLessThan(pieceBytes / 8)
})
