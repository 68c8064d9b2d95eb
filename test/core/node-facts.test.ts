/** Protects nodes.md "Nodes that differ": what differs is named with who has what, what a program does not know is no difference, and one that lasts is told once. */

import { expect, test } from 'bun:test'
import { differencesAmong, differenceText, LastingDifferences } from '../../src/core/node-facts.ts'

const node = (lane: number, facts: Record<string, string>) => ({ lane, name: 'abc'[lane] ?? '', facts })

test('each name under which nodes have several values is told, with who has which', () => {
  const found = differencesAmong([
    node(0, { version: '1', prices: 'x', plans: 'p' }),
    node(1, { version: '2', prices: 'x', later: 'l' }),
    node(2, { version: '1', prices: 'y' }),
  ])
  expect(found.map(differenceText)).toEqual([
    'prices: x on a (lane 0), b (lane 1); y on c (lane 2)',
    'version: 1 on a (lane 0), c (lane 2); 2 on b (lane 1)',
  ])
})

test('equal nodes, one alone, and one that says nothing differ in nothing', () => {
  expect(differencesAmong([])).toEqual([])
  expect(differencesAmong([node(0, { version: '1' })])).toEqual([])
  expect(differencesAmong([node(0, { version: '1' }), node(1, { version: '1' }), node(2, {})])).toEqual([])
})

test('a difference is told when it has lasted for a minute, once, and again after it was gone', () => {
  const lasting = new LastingDifferences()
  const prices = differencesAmong([node(0, { prices: 'x' }), node(1, { prices: 'y' })])
  const both = differencesAmong([node(0, { prices: 'x', plans: 'p' }), node(1, { prices: 'z', plans: 'q' })])
  const told = (found: typeof prices, seconds: number) => lasting.note(found, seconds * 1_000).map(({ what }) => what)
  expect([told(prices, 0), told(prices, 59), told(both, 60), told(both, 61)]).toEqual([[], [], ['prices'], []])
  expect([told(both, 119), told(both, 120), told([], 121), told(both, 122), told(both, 181), told(both, 182)]).toEqual([
    [],
    ['plans'],
    [],
    [],
    [],
    ['plans', 'prices'],
  ])
})
