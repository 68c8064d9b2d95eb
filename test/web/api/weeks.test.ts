/** What changed this week is exact, counts whole UTC days, and names the models that changed most, whichever way. Rules: pages.md "Spend". */

import { expect, test } from 'bun:test'
import { picos } from '../../../src/core/money.ts'
import { weeksOf } from '../../../src/web/api/weeks.ts'

const TODAY = 20_000
const spent = (id: string, daysAgo: number, cost: bigint) => ({ id, day: TODAY - daysAgo, costPicos: picos(cost) })
const USD = 1_000_000_000_000n

test('yesterday and the seventh day back are of this week, the eighth of the one before, and the day that runs of neither', () => {
  const days = [
    spent('a', 0, 7n * USD),
    spent('a', 1, 1n),
    spent('a', 7, 2n),
    spent('a', 8, 5n * USD),
    spent('a', 14, 3n),
    spent('a', 15, USD),
  ]
  const weeks = weeksOf(days, TODAY)
  expect([weeks.week_usd, weeks.week_before_usd]).toEqual(['0.000000000003', '5.000000000003'])
  expect(weeks.week_changes).toEqual([{ model: 'a', usd: '-5' }])
})

test('three models are named, the largest change first, a fall like a rise, and none that is as it was', () => {
  const rows = [
    ...[spent('same', 1, USD), spent('same', 8, USD)],
    ...[spent('rose', 1, 3n * USD), spent('gone', 9, 4n * USD), spent('b', 2, USD), spent('a', 2, USD)],
  ]
  expect(weeksOf(rows, TODAY).week_changes).toEqual([
    { model: 'gone', usd: '-4' },
    { model: 'rose', usd: '3' },
    { model: 'a', usd: '1' },
  ])
  expect(weeksOf([], TODAY)).toEqual({ week_usd: '0', week_before_usd: '0', week_changes: [] })
})
