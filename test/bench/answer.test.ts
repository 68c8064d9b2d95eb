/** Protects what a load counts: status, events and end of an answer are found wherever the socket cuts it, by length and by chunks. */

import { expect, test } from 'bun:test'
import { nowUs } from '../../bench/clock.ts'
import { Answer } from '../../bench/load/answer.ts'
import { deltas, STREAM_BEGIN, STREAM_END, WHOLE_ANSWER } from '../../bench/load/wire.ts'

const STREAM = STREAM_BEGIN + deltas(1) + deltas(8) + STREAM_END

/** Bytes after which it said that it was over; the end must come with the last. */
function readInPieces(answer: Answer, text: string, cuts: readonly number[], lags: number[] = []): boolean[] {
  answer.begin()
  const edges = [0, ...cuts, text.length]
  return edges.slice(1).map((to, index) => answer.read(Buffer.from(text.slice(edges[index], to)), (us) => lags.push(us)) === 'end')
}

test('a stream is counted whole and ends with its last byte, cut at any place', () => {
  const answer = new Answer()
  for (let cut = 1; cut < STREAM.length; cut++) {
    expect(readInPieces(answer, STREAM, [cut])).toEqual([false, true])
    expect([answer.status, answer.events]).toEqual(['200', 9])
  }
  const everyByte = Array.from({ length: STREAM.length - 1 }, (_, index) => index + 1)
  expect(readInPieces(answer, STREAM, everyByte).indexOf(true)).toBe(STREAM.length - 1)
  expect(answer.events).toBe(9)
})

test('an answer with a length ends there, events or not', () => {
  const answer = new Answer()
  expect(readInPieces(answer, WHOLE_ANSWER, [10, 100])).toEqual([false, false, true])
  expect([answer.status, answer.events]).toEqual(['200', 0])
  const events = deltas(3).split('\r\n')[1] ?? ''
  expect(readInPieces(answer, `HTTP/1.1 200 OK\r\nContent-Length: ${events.length}\r\n\r\n${events}`, [90])).toEqual([false, true])
  expect(answer.events).toBe(3)
})

test('the time of an event is that since it was written; one that was cut is counted and not timed', () => {
  const answer = new Answer()
  const before = nowUs()
  const text = STREAM_BEGIN + deltas(1) + STREAM_END
  const lags: number[] = []
  readInPieces(answer, text, [], lags)
  expect(lags).toHaveLength(1)
  expect(lags[0]).toBeGreaterThanOrEqual(-1)
  expect(lags[0]).toBeLessThanOrEqual(nowUs() - before + 1)
  const cut: number[] = []
  readInPieces(answer, text, [text.indexOf('~') + 5], cut)
  expect([answer.events, cut.length]).toEqual([1, 0])
})

test('a stream is complete when the terminal event of its format stands at its end, and not when an error does', () => {
  const end = (frames: string): string => `${STREAM_BEGIN}${deltas(2)}${frames.length.toString(16)}\r\n${frames}\r\n0\r\n\r\n`
  const ends = [
    [STREAM, true],
    [end('data: [DONE]\n\n'), true],
    [end('data: {"error":{"type":"server_error"},"type":"error"}\nevent: error\n\n'), false],
    [end(''), false],
  ] as const
  for (const [text, isComplete] of ends)
    for (const cuts of [[], [text.length - 20], [text.length - 7]]) {
      const answer = new Answer()
      expect(readInPieces(answer, text, cuts).at(-1)).toBeTrue()
      expect(answer.isComplete).toBe(isComplete)
    }
})

test('an error is seen as one', () => {
  const answer = new Answer()
  expect(readInPieces(answer, 'HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}', [])).toEqual([true])
  expect(answer.status).toBe('429')
})
