/** What the loop does with the bytes of a large body: it keeps them as they came, and joins a little at a time. Rules: requests.md "Heavy bodies". */

import { expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import { type Pieces, readBody } from '../../src/relay/read-body.ts'
import { makeTestBodies } from '../support/world.ts'

const KIB = 1024
const MIB = 1024 * KIB
const TIME = { clock: { now: () => 0, monotonicMs: () => 0 }, wheel: new TimerWheel() }

async function read(chunks: readonly Uint8Array[]): Promise<Pieces> {
  const left = [...chunks]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(next)
    },
  })
  const lease = makeTestBodies().lease({ id: 'key_large', accountId: 'acc_large' })
  const pieces = await readBody(new Request('http://a', { method: 'POST', body }), TIME, LIMITS, lease)
  lease.release()
  if (pieces instanceof Refusal) throw new Error(pieces.message)
  return pieces
}

/** Each chunk has a buffer of its own, and other bytes than the 250 chunks before it. */
const chunksOf = (count: number, bytes: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => new Uint8Array(bytes).fill(index % 251))

test('a body of 32 MiB stays in the pieces in which it came: none of its bytes is copied', async () => {
  const chunks = chunksOf(64, 512 * KIB)
  const pieces = await read(chunks)
  expect(pieces.map(({ buffer }) => chunks.findIndex((chunk) => chunk.buffer === buffer))).toEqual(chunks.map((_, index) => index))
})

test('of a large body that comes in little chunks at most a MiB is joined at a time, and every byte is there in its order', async () => {
  const chunks = chunksOf(300, 16 * KIB - 1)
  const pieces = await read(chunks)
  expect(pieces.map(({ byteLength }) => byteLength).filter((bytes) => bytes > MIB)).toEqual([])
  expect(Buffer.compare(Buffer.concat(pieces), Buffer.concat(chunks))).toBe(0)
})
