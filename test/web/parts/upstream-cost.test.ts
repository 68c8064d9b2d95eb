/** Explore tells an operator no cost that is not known, and says where what it tells is a part of the whole. Rules: pages.md "Explore". */

import { expect, test } from 'bun:test'
import { hasUpstreamCost, knownCostNote, upstreamCostOf } from '../../../src/web/parts/upstream-cost.ts'

const none = { requests: 4, upstream_cost_usd: '0.00', costed_requests: 0 }
const part = { requests: 1_400, upstream_cost_usd: '0.25', costed_requests: 1_399 }
const whole = { requests: 4, upstream_cost_usd: '0.00', costed_requests: 4 }
const customers = { requests: 4 }

test('where no cost is known there is no amount, and an amount of nothing only where that is the cost', () => {
  expect([none, part, whole, customers].map(hasUpstreamCost)).toEqual([false, true, true, false])
  expect([none, part, whole, customers].map(upstreamCostOf)).toEqual([null, '0.25', '0.00', null])
})

test('that a sum is of some of the requests alone is said, with how many', () => {
  expect([none, whole, customers].map(knownCostNote)).toEqual([null, null, null])
  expect(knownCostNote(part)).toMatch(/^The upstream cost of 1.?399 of 1.?400 requests is known\.$/)
})
