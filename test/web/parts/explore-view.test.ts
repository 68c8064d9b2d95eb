/** What Explore's page makes of its address and of names: a comma in an id is no end of it, and things that share a name are told apart. Rules: pages.md "Explore". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DIMENSIONS } from '../../../src/core/explore.ts'
import { exploreOf } from '../../../src/web/api/explore-query.ts'
import { titlesOf } from '../../../src/web/parts/explore-titles.ts'
import {
  exploreSearch,
  exploreViewOf,
  filtersIn,
  foreignFilters,
  groupsOf,
  idsText,
  measuredBy,
  namesIn,
  onlyOf,
} from '../../../src/web/parts/explore-view.ts'
import { percent, ratesOf } from '../../../src/web/parts/explored.ts'
import { runs } from '../../support/property-runs.ts'

const LISTED = ['model', 'key', 'tag'] as const

test('ids of any form that a model may have, with commas, are the same behind the address', () => {
  const id = fc.stringMatching(/^[!#-)+-[\]-~]{1,12}$/)
  fc.assert(
    fc.property(fc.array(id, { minLength: 1, maxLength: 5 }), (ids) => {
      const search = exploreSearch({ model: idsText(ids), by: 'key' })
      const view = exploreViewOf(Object.fromEntries(new URLSearchParams(search)), 0)
      expect(filtersIn(view)).toEqual([['model', ids]])
      const asked = exploreOf({ model: idsText(ids) }, 0, DIMENSIONS)
      expect('asked' in asked && asked.asked.only.model).toEqual(ids)
      expect(onlyOf({ model: idsText(ids) }, LISTED)).toEqual({ model: idsText(ids) })
    }),
    { numRuns: runs(100) },
  )
})

test('the requests behind a sum are a list only of kinds that the list knows, and of one tag that stands for itself', () => {
  expect(onlyOf({ model: 'm', tag: 'team:a' }, LISTED)).toEqual({ model: 'm', tag: 'team:a' })
  expect(onlyOf({ model: 'm,n\\,o', key: 'k' }, LISTED)).toEqual({ model: 'm,n\\,o', key: 'k' })
  for (const view of [{ tag: 'a,b' }, { tag: '(none)' }, { tag: '(other)' }, { format: 'chat' }])
    expect(onlyOf(view, LISTED)).toBeUndefined()
})

test('rates of steps are drawn as they are, none as a gap, and said in percent', () => {
  expect(ratesOf(['0', '437', null, '1000'])).toEqual([0, 437, null, 1000])
  expect([null, 0, 437, 1000].map(percent)).toEqual(['–', '0.0 %', '43.7 %', '100.0 %'])
})

test('things of a kind that share a name have the end of their ids, others their names, and what is in no row its id', () => {
  const rows = [
    {
      things: [
        { id: 'key_000001', name: 'app' },
        { id: 'app', name: '' },
      ],
    },
    {
      things: [
        { id: 'key_000002', name: 'app' },
        { id: 'opus', name: '' },
      ],
    },
    {
      things: [
        { id: 'key_000003', name: 'laptop' },
        { id: 'opus', name: '' },
      ],
    },
  ]
  const titleOf = titlesOf(['key', 'model'], rows)
  expect(['key_000001', 'key_000002', 'key_000003', 'key_9'].map((id) => titleOf('key', id))).toEqual([
    'app (…000001)',
    'app (…000002)',
    'laptop',
    'key_9',
  ])
  expect(['app', 'opus'].map((id) => titleOf('model', id))).toEqual(['app', 'opus'])
})

test('another measure keeps of the view what it can be told apart by', () => {
  const view = { ...exploreViewOf({ by: 'account,upstream', measure: 'spend' }, 0), model: 'opus' }
  expect(measuredBy(view, 'first_byte_p95', DIMENSIONS)).toEqual({ ...view, by: 'upstream', measure: 'first_byte_p95' })
  expect(measuredBy({ ...view, by: 'key,account' }, 'refusals', DIMENSIONS).by).toBe('model')
  expect(measuredBy({ ...view, by: 'reason,model', measure: 'refusals' }, 'spend', DIMENSIONS).by).toBe('model')
  expect(measuredBy({ ...view, by: 'reason' }, 'first_byte_p50', DIMENSIONS).by).toBe('model')
  expect(measuredBy(view, 'requests', DIMENSIONS).by).toBe('account,upstream')
  expect(namesIn('reason,model')).toEqual(['reason', 'model'])
  expect([groupsOf('refusals', DIMENSIONS), groupsOf('first_byte_p50', DIMENSIONS)]).toEqual([
    ['model', 'upstream', 'reason'],
    ['model', 'upstream'],
  ])
  expect(foreignFilters({ model: 'a', upstream: 'b', key: 'c', tag: 'd' })).toEqual(['key', 'tag'])
})
