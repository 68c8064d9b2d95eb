/** A check leaves out only slow test files, says which, takes no longer than it may, and sooner or later runs each. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import timings from '../timings.json'
import { drawFiles, SLOW_FROM_MS } from './draw-files.ts'
import { randomFrom } from './seed.ts'

const sum = (table: Record<string, number>, files: readonly string[]): number =>
  files.reduce((total, file) => total + (table[file] ?? 0), 0)

test('whatever the times are, each slow file is drawn or left, no quick one is either, and none is left that had room', () => {
  const table = fc.dictionary(fc.string(), fc.integer({ min: 0, max: 10 * SLOW_FROM_MS }))
  fc.assert(
    fc.property(table, fc.integer({ min: 0, max: 40 * SLOW_FROM_MS }), fc.integer(), (times, budgetMs, seed) => {
      const { drawn, left } = drawFiles(times, budgetMs, randomFrom(seed))
      expect([...drawn, ...left].toSorted()).toEqual(
        Object.keys(times)
          .filter((file) => (times[file] ?? 0) >= SLOW_FROM_MS)
          .toSorted(),
      )
      const drawnMs = sum(times, drawn)
      expect(drawnMs).toBeLessThanOrEqual(budgetMs)
      for (const file of left) expect(drawnMs + (times[file] ?? 0)).toBeGreaterThan(budgetMs)
      expect(drawFiles(Object.fromEntries(Object.entries(times).reverse()), budgetMs, randomFrom(seed))).toEqual({ drawn, left })
    }),
  )
})

test('of the files that are there each slow one is drawn by some seed', () => {
  const left = new Set(Object.entries(timings.files).flatMap(([file, ms]) => (ms >= SLOW_FROM_MS ? [file] : [])))
  expect(left.size).toBeGreaterThan(0)
  for (let seed = 0; seed < 1_000 && left.size > 0; seed++)
    for (const file of drawFiles(timings.files, 600_000, randomFrom(seed)).drawn) left.delete(file)
  expect([...left]).toEqual([])
})
