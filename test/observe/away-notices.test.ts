/** A store that is away refuses every page; the log has one line of it in ten seconds, with the count. */

import { expect, test } from 'bun:test'
import { noticeAway } from '../../src/observe/away-notices.ts'

const logOf = () => {
  const lines: unknown[] = []
  return { lines, log: { notice: (text: string, fields = {}) => void lines.push([text, fields]) } }
}

test('the first is told at once, then one in ten seconds, with the count since; another log has its own', () => {
  const { lines, log } = logOf()
  for (let ms = 0; ms < 10_000; ms += 10) noticeAway(log, 'held', ms)
  expect(lines).toEqual([['the people cannot be asked', { problem: 'held', count: 1 }]])
  noticeAway(log, 'too many', 10_000)
  expect(lines.slice(1)).toEqual([['the people cannot be asked', { problem: 'too many', count: 1_000 }]])
  noticeAway(log, 'held', 25_000)
  expect(lines.slice(2)).toEqual([['the people cannot be asked', { problem: 'held', count: 1 }]])
  const other = logOf()
  noticeAway(other.log, 'held', 10_001)
  expect(other.lines).toHaveLength(1)
})
