/** Whoever filters for what is rare is shown it without turning empty pages, within a bound. Rules: pages.md "Requests of an account". */

import { expect, test } from 'bun:test'
import { LOOKS_MAX, lookBack } from '../../src/web/cabinet/look-back.ts'

/** Pages of which only the `at`th has a row. */
function pagesOf(at: number, count = Number.POSITIVE_INFINITY) {
  const asked: (string | undefined)[] = []
  return {
    asked,
    look: (after: string | undefined) => {
      asked.push(after)
      const page = Number(after ?? 1)
      return Promise.resolve({ data: { data: page === at ? ['row'] : [], next_cursor: page === count ? null : String(page + 1) } })
    },
  }
}
const always = (): boolean => true

test('empty pages are walked over to the first that has something, from where the reader is', async () => {
  const first = pagesOf(4)
  expect((await lookBack(first.look, undefined, always)).data).toEqual({ data: ['row'], next_cursor: '5' })
  expect(first.asked).toEqual([undefined, '2', '3', '4'])
  const later = pagesOf(8)
  await lookBack(later.look, '7', always)
  expect(later.asked).toEqual(['7', '8'])
})

test('a walk ends at the end of the list, after so many looks, with a failure, and when nobody waits for it', async () => {
  const short = pagesOf(0, 3)
  expect((await lookBack(short.look, undefined, always)).data.next_cursor).toBeNull()
  const long = pagesOf(0)
  expect((await lookBack(long.look, undefined, always)).data.next_cursor).toBe(String(LOOKS_MAX + 1))
  expect([short.asked.length, long.asked.length]).toEqual([3, LOOKS_MAX])
  const left = pagesOf(9)
  await lookBack(left.look, undefined, () => left.asked.length < 2)
  expect(left.asked).toEqual([undefined, '2'])
  let asked = 0
  const failing = () => Promise.resolve({ data: asked++ === 0 ? { data: [], next_cursor: '2' } : null })
  expect([await lookBack(failing, undefined, always), asked]).toEqual([{ data: null }, 2])
})
