/** A key has so many requests a minute and so many at once, and each place comes back. Rules: keys.md "Rate limits". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { KeyLimits, type Slot } from '../../src/relay/key-limits.ts'

function make(requestsPerMinute: number, concurrentRequests: number) {
  const clock = { now: 0 }
  const limits = { ...LIMITS, requestsPerMinute, concurrentRequests }
  return { clock, limits: new KeyLimits({ limits: () => limits, now: () => clock.now }) }
}

function admitted(answer: Slot | Refusal): Slot {
  if (answer instanceof Refusal) throw new Error(`refused: ${answer.name}`)
  return answer
}

const isRefused = (answer: Slot | Refusal): boolean => answer instanceof Refusal && answer.name === 'rateLimited'

test('a key gets its requests a minute at once, then 429 until its Retry-After, which is honoured', () => {
  const { clock, limits } = make(5, 100)
  for (let i = 0; i < 5; i++) admitted(limits.admit('key_1')).release()
  const refused = limits.admit('key_1') as Refusal
  expect([refused.name, refused.retryAfterSeconds]).toEqual(['rateLimited', 12])
  expect(isRefused(limits.admit('key_1'))).toBe(true)
  admitted(limits.admit('key_2'))
  clock.now += 12_000
  admitted(limits.admit('key_1'))
  expect(isRefused(limits.admit('key_1'))).toBe(true)
})

test('count() uses the same allowance and no slot', () => {
  const { limits } = make(2, 1)
  admitted(limits.admit('key_1'))
  expect(limits.count('key_1')).toBeUndefined()
  expect(limits.count('key_1')?.name).toBe('rateLimited')
})

test('concurrent requests are bounded, and releasing twice frees one place only', () => {
  const { limits } = make(1_000, 2)
  const first = admitted(limits.admit('key_1'))
  admitted(limits.admit('key_1'))
  expect(isRefused(limits.admit('key_1'))).toBe(true)
  first.release()
  first.release()
  admitted(limits.admit('key_1'))
  expect(isRefused(limits.admit('key_1'))).toBe(true)
})

test('a request refused for concurrency does not use up the minute', () => {
  const { limits } = make(2, 1)
  const slot = admitted(limits.admit('key_1'))
  for (let i = 0; i < 10; i++) expect(isRefused(limits.admit('key_1'))).toBe(true)
  slot.release()
  admitted(limits.admit('key_1'))
})

test('whatever the order of comings and goings, running requests never pass the bound and every place comes back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(9), { maxLength: 200 }), (bound, moves) => {
      const { limits } = make(1_000_000, bound)
      const running: Slot[] = []
      for (const move of moves) {
        const slot = move < 5 ? limits.admit('key_1') : undefined
        if (slot instanceof Refusal) expect(running).toHaveLength(bound)
        else if (slot !== undefined) running.push(slot)
        else running.splice(move % Math.max(1, running.length), 1).forEach((gone) => void gone.release())
        expect(running.length).toBeLessThanOrEqual(bound)
      }
      for (const slot of running) slot.release()
      for (let i = 0; i < bound; i++) admitted(limits.admit('key_1'))
      expect(isRefused(limits.admit('key_1'))).toBe(true)
    }),
  )
})
