/** Requests of one turn leave at its end, each once and in their order, and what was given up meanwhile does not leave at all. */

import { expect, test } from 'bun:test'
import { TurnWrites } from '../../src/upstream/turn-writes.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what is added in a turn is written at its end, once and in order; what comes then is of the next', async () => {
  const writes = new TurnWrites()
  const written: string[] = []
  const writing = (name: string) => ({ writeUnsent: () => void written.push(name) })
  writes.add(writing('first'))
  writes.add({
    writeUnsent: () => {
      written.push('second')
      writes.add(writing('fourth'))
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
