/** What an address says a page of spend shows, and the way back to an address; amounts for the eye that lose no digit. Rules: pages.md "Spend". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type SpendView, spendSearch, spendViewOf } from '../../src/web/cabinet/spend-view.ts'
import { showPerMillion, sumUsd } from '../../src/web/parts/show-usd.ts'

const NOW = Date.UTC(2026, 10, 22, 23, 59)
const queryOf = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search))

test('whatever an address says is a view, and nonsense is as if it were not there', () => {
  const usual = { range: '30', from: '2026-10-24', to: '2026-11-22', by: 'model' } as const
  for (const query of [{}, { range: 'ever' }, { by: 'hour' }, { from: '2026-11-01' }, { from: 'x', to: 'y' }, { key: '', model: '' }])
    expect([query, spendViewOf(query, NOW)]).toEqual([query, usual])
  expect(spendViewOf({ range: 'today', by: 'key', model: 'a&b' }, NOW)).toEqual({
    range: 'today',
    from: '2026-11-22',
    to: '2026-11-22',
    by: 'key',
    model: 'a&b',
  })
})

test('a view comes back from its own address', () => {
  const day = fc
    .date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10))
  const query = fc.record({
    range: fc.constantFrom('today', '7', '30', '90'),
    by: fc.constantFrom('model', 'key'),
    key: fc.string(),
    model: fc.string(),
  })
  fc.assert(
    fc.property(query, fc.option(fc.tuple(day, day)), (asked, days) => {
      const view: SpendView = spendViewOf(days === null ? asked : { ...asked, from: days[0], to: days[1] }, NOW)
      expect(spendViewOf(queryOf(spendSearch(view)), NOW)).toEqual(view)
    }),
  )
})

test('sums and rates lose no digit', () => {
  expect(sumUsd(['0.1', '0.2', '-0.000000000001'])).toBe('0.299999999999')
  expect(sumUsd(['-5', '2'])).toBe('-3')
  expect(['0.000003', '0.00000375', '0.0000000375', '0.000000000001'].map(showPerMillion)).toEqual([
    '$3.00',
    '$3.75',
    '$0.0375',
    '$0.000001',
  ])
})
