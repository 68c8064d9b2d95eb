/**
 * Requests of one turn leave at its end, each once and in their order, and what was given up meanwhile does not leave at all. Large ones share what a turn writes; small
 * ones never wait for them. Rules: platform.md "Sockets".
 */

import { expect, test } from 'bun:test'
import { TurnWrites } from '../../src/upstream/turn-writes.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const MOST = 512 * 1024

test('what is added in a turn is written at its end, once and in order; what comes then is of the next', async () => {
  const writes = new TurnWrites()
  const written: string[] = []
  const writing = (name: string) => ({ unsentBytes: 1, writeUnsent: () => written.push(name) })
  writes.add(writing('first'))
  writes.add({
    unsentBytes: 1,
    writeUnsent: () => {
      writes.add(writing('fourth'))
      return written.push('second')
    },
  })
  writes.add(writing('third'))
  expect(written).toEqual([])
  await turn()
  expect(written.slice(0, 3)).toEqual(['first', 'second', 'third'])
  await turn()
  expect(written).toEqual(['first', 'second', 'third', 'fourth'])
  await turn()
  expect(written).toHaveLength(4)
})

test('large requests have turns and write half a megabyte together; a small one leaves in its own turn, behind however many', async () => {
  const writes = new TurnWrites()
  let wroteBytes = 0
  /** As a connection whose kernel takes all that it is offered. */
  const sending = (unsentBytes: number) => {
    const one = {
      unsentBytes,
      writeUnsent(bytesMax: number): number {
        const taken = Math.min(bytesMax, one.unsentBytes)
        one.unsentBytes -= taken
        wroteBytes += taken
        if (one.unsentBytes > 0) writes.add(one)
        return taken
      },
    }
    writes.add(one)
    return one
  }
  const large = Array.from({ length: 4 }, () => sending(2 * MOST))
  await turn()
  expect([large.map(({ unsentBytes }) => unsentBytes / MOST), wroteBytes]).toEqual([[1, 2, 2, 2], MOST])
  const small = sending(1_000)
  await turn()
  expect([large.map(({ unsentBytes }) => unsentBytes / MOST), small.unsentBytes, wroteBytes]).toEqual([[1, 1, 2, 2], 0, 2 * MOST + 1_000])
  for (let turns = 3; turns <= 5; turns++) await turn()
  expect(large.map(({ unsentBytes }) => unsentBytes / MOST)).toEqual([0, 1, 1, 1])
  for (let turns = 6; turns <= 8; turns++) await turn()
  expect(large.map(({ unsentBytes }) => unsentBytes)).toEqual([0, 0, 0, 0])
})
