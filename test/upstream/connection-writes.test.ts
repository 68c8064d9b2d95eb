/** A large request leaves a turn's worth at a time, whatever the kernel would take at once, and every byte of it in order. Rules: platform.md "Sockets". */

import { expect, test } from 'bun:test'
import type { Socket } from 'bun'
import fc from 'fast-check'
import { Connection } from '../../src/upstream/connection.ts'
import { TurnReads } from '../../src/upstream/turn-reads.ts'
import { TurnWrites } from '../../src/upstream/turn-writes.ts'

const MOST = 512 * 1024
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A connection whose kernel takes `takes` bytes of a write at most, and what it was offered in each turn. */
function connected(takes = Number.POSITIVE_INFINITY) {
  const offers: number[] = []
  const sent: Uint8Array[] = []
  const socket = {
    setKeepAlive: () => undefined,
    write(bytes: Uint8Array): number {
      const taken = Math.min(takes, bytes.length)
      offers.push(bytes.length)
      sent.push(bytes.slice(0, taken))
      return taken
    },
  }
  const connection = new Connection({ isSecure: false, writes: new TurnWrites(), reads: new TurnReads(), settle: () => undefined })
  connection.opened(socket as unknown as Socket<Connection>)
  return { connection, offers, sent: () => Buffer.concat(sent) }
}

test('of a body of megabytes each turn writes half a one, though the kernel would take all of it and asks for no more', async () => {
  const { connection, offers, sent } = connected()
  const body = new Uint8Array(3 * MOST + 7).map((_, at) => at % 251)
  const head = Buffer.from('head')
  connection.write([head, body])
  for (let turns = 1; turns <= 4; turns++) {
    await turn()
    expect(sent().length).toBe(Math.min(turns * MOST, head.length + body.length))
    expect(connection.isFlushed).toBe(turns === 4)
  }
  expect(Math.max(...offers)).toBeLessThanOrEqual(MOST)
  expect(Buffer.compare(sent(), Buffer.concat([head, body]))).toBe(0)
})

test('whatever the kernel takes of it, the bytes arrive once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(70_000, 400_000, MOST, 2_000_000),
      async (lengths, takes) => {
        const { connection, sent } = connected(takes)
        const pieces = lengths.map((length, piece) => new Uint8Array(length).map((_, at) => (at + piece) % 251))
        connection.write(pieces)
        for (let turns = 0; turns < 60 && !connection.isFlushed; turns++) {
          await turn()
          // As the kernel does where it took less than it was offered.
          connection.drained()
        }
        expect(Buffer.compare(sent(), Buffer.concat(pieces))).toBe(0)
      },
    ),
    { numRuns: 20 },
  )
})
