/** A ledger of any version that a program can read has one way to its newest; of any other there is none. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Migration, newestOf, planOf } from '../../src/core/migration.ts'

const all: readonly Migration[] = [2, 3, 4, 7].map((version) => ({ version, sql: `-- ${version}` }))

test('what is due are the steps above the ledger’s version, in order, up to the newest', () => {
  expect(newestOf(all)).toBe(7)
  expect(planOf(all, 2)).toEqual({ kind: 'due', steps: all.slice(1) })
  expect(planOf(all, 4)).toEqual({ kind: 'due', steps: all.slice(3) })
  expect(planOf(all, 7)).toEqual({ kind: 'current' })
})

test('nothing leads on from a version that no migration made, or back from a newer one', () => {
  for (const version of [0, 1, 5, 6, -1, 2.5, Number.NaN]) expect([version, planOf(all, version)]).toEqual([version, { kind: 'unknown' }])
  for (const version of [8, 99, Number.POSITIVE_INFINITY]) expect([version, planOf(all, version)]).toEqual([version, { kind: 'newer' }])
  expect(planOf([], 0)).toEqual({ kind: 'unknown' })
})

test('however often it is broken off, what is left of a plan is the plan of where it came to', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(50), { minLength: 1 }), fc.nat(60), (versions, from) => {
      const migrations = versions.sort((a, b) => a - b).map((version) => ({ version, sql: '' }))
      const plan = planOf(migrations, from)
      if (plan.kind !== 'due') return
      expect(plan.steps.at(-1)?.version).toBe(newestOf(migrations))
      plan.steps.forEach((step, index) => {
        const left = planOf(migrations, step.version)
        expect(left).toEqual(index + 1 === plan.steps.length ? { kind: 'current' } : { kind: 'due', steps: plan.steps.slice(index + 1) })
      })
    }),
  )
})
