/** Protects money.md "Margin": the upstreams of which is not known what they charge are named, with the models whose calls are in no sum. */

import { expect, test } from 'bun:test'
import type { Catalog } from '../../src/core/catalog.ts'
import { withoutCost, withoutCostText } from '../../src/core/without-cost.ts'

const model = (id: string, upstreams: readonly string[], costs: readonly string[]) =>
  [id, { id, upstreams: upstreams.map((name) => ({ name })), costs: new Map(costs.map((name) => [name, {}])) }] as const

test('each upstream that lacks a cost is named once, with the models that lack it', () => {
  const models = new Map([model('a', ['north', 'south'], ['north']), model('b', ['south', 'west'], []), model('c', ['north'], ['north'])])
  const found = withoutCost({ models, plans: new Map() } as unknown as Catalog)
  expect(found).toEqual([
    { upstream: 'south', models: ['a', 'b'] },
    { upstream: 'west', models: ['b'] },
  ])
  expect(withoutCostText(found)).toBe('What these charge is not known, so their calls are in no sum: south (a, b); west (b).')
  expect(withoutCostText([])).toBe('')
})
