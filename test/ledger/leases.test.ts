/**
 * Nodes that share a balance never spend more of it than one request too much, whatever order their words come in, are lost, come twice or late; and nothing of it is
 * lost. `FC_RUNS` sets how many walks are tried.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LeaseModel } from '../support/lease-model.ts'
import { LeaseWalk, walkSetting, walkStep } from '../support/lease-walk.ts'
import { runs } from '../support/property-runs.ts'

test('however nodes hold, settle and give back, what may be spent is at most one request more than there is, and all of the rest comes back', () => {
  fc.assert(
    fc.property(walkSetting, fc.array(walkStep, { maxLength: 120, size: 'max' }), (setting, steps) => {
      const walk = new LeaseWalk(setting, new LeaseModel(setting.nodes, setting.balances, setting.limits))
      for (const step of steps) walk.step(step)
      walk.finish()
    }),
    { numRuns: runs(600) },
  )
}, 180_000)

const setting = { nodes: 2, balances: [100n], limits: [null] }

const walkOver = (given: Partial<typeof setting> = {}): LeaseWalk => {
  const whole = { ...setting, ...given }
  return new LeaseWalk(whole, new LeaseModel(whole.nodes, whole.balances, whole.limits))
}
const answersTo = (walk: LeaseWalk, requests: readonly string[]) => requests.map((request) => walk.answerTo(request))

test('with a balance for five, however many nodes ask at once, one more than five is let in', () => {
  const walk = walkOver({ nodes: 4 })
  const requests = Array.from({ length: 40 }, (_, index) => walk.hold(index, 1, 19n))
  walk.settleDown()
  expect(answersTo(walk, requests).filter((answer) => answer === 'held')).toHaveLength(6)
  walk.finish()
})

test('what a request was granted beyond the balance serves no other when it has ended', () => {
  const walk = walkOver({ balances: [1n] })
  const large = walk.hold(0, 1, 100n)
  walk.settleDown()
  expect(walk.answerTo(large)).toBe('held')
  // An ask on its way keeps the rest from going back.
  walk.hold(0, 1, 0n)
  walk.step({ kind: 'void', node: 0, request: 0 })
  const small = Array.from({ length: 50 }, () => walk.hold(0, 1, 1n))
  walk.settleDown()
  expect(answersTo(walk, small).filter((answer) => answer === 'held')).toHaveLength(1)
  walk.finish()
})

test('a small balance is free for another node as soon as a request has ended', () => {
  const walk = walkOver()
  walk.hold(0, 1, 60n)
  walk.settleDown()
  walk.step({ kind: 'settle', node: 0, request: 0, part: 4n })
  walk.settleDown()
  const [covered, last, refused] = [walk.hold(1, 1, 69n), walk.hold(0, 1, 50n), walk.hold(1, 1, 1n)]
  walk.settleDown()
  expect(answersTo(walk, [covered, last, refused])).toEqual(['held', 'held', 'reserved'])
})

test('with a large balance steady traffic asks once for many requests, and none of it passes the limit of its key', () => {
  const walk = walkOver({ balances: [1_000_000n] })
  walk.hold(0, 1, 10n)
  walk.settleDown()
  const atOnce = Array.from({ length: 60 }, () => walk.hold(0, 1, 10n))
  expect(new Set(answersTo(walk, atOnce))).toEqual(new Set(['held']))
  walk.finish()
})

test('what another node waits for comes back at once where nothing runs, and by halves where something does', () => {
  const walk = walkOver({ balances: [1_300n] })
  walk.hold(0, 1, 10n)
  walk.settleDown()
  const held = walk.leaseOf(0)
  walk.step({ kind: 'wanted', node: 0, account: 0 })
  walk.settleDown()
  expect(walk.leaseOf(0)).toBe(10n + (held - 10n) / 2n)
  walk.step({ kind: 'void', node: 0, request: 0 })
  walk.step({ kind: 'wanted', node: 0, account: 0 })
  walk.settleDown()
  expect(walk.leaseOf(0)).toBe(0n)
})

test('what was not needed between two looks goes back, and what was stays', () => {
  const walk = walkOver({ balances: [1_300n] })
  walk.hold(0, 1, 10n)
  walk.settleDown()
  walk.step({ kind: 'sweep', node: 0 })
  walk.settleDown()
  const held = walk.leaseOf(0)
  walk.hold(0, 1, 30n)
  walk.step({ kind: 'void', node: 0, request: 1 })
  walk.step({ kind: 'sweep', node: 0 })
  walk.settleDown()
  expect(walk.leaseOf(0)).toBe(10n + 30n)
  expect(held).toBeGreaterThan(40n)
})
