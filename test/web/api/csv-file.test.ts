/** A file in pieces gives its rows back once, however it ends: taken whole, left, or taken too slowly, of which its reader is told; and it leaves no timer behind. Rules: pages.md "Explore". */

import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import { csvFile } from '../../../src/web/api/csv-file.ts'

beforeEach(() => {
  jest.useFakeTimers()
})
afterEach(() => {
  jest.useRealTimers()
})

const FILE_MS_MAX = 600_000

function opened(pieces: readonly string[]) {
  let ends = 0
  const reader = csvFile(pieces.values(), { onEnd: () => void ends++, turn: () => Promise.resolve() }).getReader()
  /** The next piece; null at the end. */
  const next = async (): Promise<string | null> => {
    const { done, value } = await reader.read()
    return done ? null : new TextDecoder().decode(value)
  }
  return { reader, next, ends: () => ends }
}

/** What a read comes to once all that can go on has gone on. */
async function settled(read: Promise<string | null>): Promise<unknown> {
  let found: unknown = 'nothing'
  read.then(
    (value) => {
      found = value
    },
    ({ message }: Error) => {
      found = message
    },
  )
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  return found
}

test('a file that is taken whole ends once, also when its time is over', async () => {
  const { next, ends } = opened(['a\r\n', 'b\r\n'])
  expect([await next(), await next(), ends()]).toEqual(['a\r\n', 'b\r\n', 0])
  expect([await next(), ends(), jest.getTimerCount()]).toEqual([null, 1, 0])
  jest.advanceTimersByTime(2 * FILE_MS_MAX)
  expect([await next(), ends()]).toEqual([null, 1])
})

test('a file that is left ends once, also when its time is over', async () => {
  const { reader, next, ends } = opened(['a\r\n', 'b\r\n'])
  await next()
  expect([ends(), jest.getTimerCount()]).toEqual([0, 1])
  await reader.cancel()
  expect([ends(), jest.getTimerCount()]).toEqual([1, 0])
  jest.advanceTimersByTime(2 * FILE_MS_MAX)
  expect(ends()).toBe(1)
})

test('a file that is taken too slowly ends once, and breaks off: its reader does not take a part for the whole', async () => {
  const { reader, next, ends } = opened(['a\r\n', 'b\r\n'])
  expect(await next()).toBe('a\r\n')
  jest.advanceTimersByTime(FILE_MS_MAX - 1)
  expect([await next(), ends()]).toEqual(['b\r\n', 0])
  jest.advanceTimersByTime(1)
  expect(ends()).toBe(1)
  expect(await settled(next())).toBe('the file was taken too slowly')
  await reader.cancel().catch(() => undefined)
  expect([ends(), jest.getTimerCount()]).toEqual([1, 0])
})
