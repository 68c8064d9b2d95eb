/**
 * Protects keys.md "Rates": a bucket lets in what fits, anything where nothing is taken, and over any history no more than its limit and what has flowed back; what it tells
 * to wait for is true.
 */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  amountsOf,
  bucketState,
  changed,
  comingBack,
  type Levels,
  levelsAt,
  NO_AMOUNTS,
  type RateLimits,
  rateLimitsOf,
  waitMsFor,
} from '../../src/core/token-buckets.ts'

const limited = (inputTokensPerMinute: number, outputTokensPerMinute: number | null = null): RateLimits => ({
  requestsPerMinute: null,
  inputTokensPerMinute,
  outputTokensPerMinute,
  concurrentRequests: null,
})

/** The slow way: every amount that was taken, each in fractions of a token as a bigint, and what has flowed back of them by then. */
class Oracle {
  readonly #perMinute: bigint
  /** Token-milliseconds times 60,000: whole numbers throughout. */
  #level = 0n
  #atMs = 0

  constructor(perMinute: number) {
    this.#perMinute = BigInt(perMinute)
  }

  admits(nowMs: number, tokens: number): boolean {
    this.#flow(nowMs)
    const isAdmitted = this.#level === 0n || this.#level + scaled(Math.max(1, tokens)) <= this.#perMinute * 60_000n
    if (isAdmitted) this.#level += scaled(tokens)
    return isAdmitted
  }

  correct(nowMs: number, tokens: number): void {
    this.#flow(nowMs)
    this.#level += scaled(tokens)
    if (this.#level < 0n) this.#level = 0n
  }

  #flow(nowMs: number): void {
    const passed = BigInt(Math.max(0, nowMs - this.#atMs))
    this.#atMs = nowMs
    this.#level = this.#level > passed * this.#perMinute ? this.#level - passed * this.#perMinute : 0n
  }
}

const scaled = (tokens: number): bigint => BigInt(tokens) * 60_000n

const step = fc.record({
  afterMs: fc.integer({ min: -30_000, max: 90_000 }),
  tokens: fc.oneof(fc.nat(20), fc.nat(100_000)),
  kind: fc.constantFrom('ask', 'correct'),
  sign: fc.constantFrom(1, -1),
})

test('over any history of requests, corrections and a clock that is set back and forth, it decides as exact arithmetic does', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60_000 }), fc.array(step, { maxLength: 60 }), (perMinute, steps) => {
      const limits = limited(perMinute)
      const oracle = new Oracle(perMinute)
      let levels: Levels = levelsAt(undefined, limits, 0)
      let nowMs = 0
      for (const { afterMs, tokens, kind, sign } of steps) {
        nowMs += afterMs
        levels = levelsAt(levels, limits, nowMs)
        if (kind === 'correct') {
          levels = changed(levels, limits, { requests: 0, input: sign * tokens, output: 0 })
          oracle.correct(nowMs, sign * tokens)
          continue
        }
        const wanted = { inputTokens: tokens }
        const isAdmitted = waitMsFor(levels, limits, wanted) === 0
        expect(isAdmitted).toBe(oracle.admits(nowMs, tokens))
        if (isAdmitted) levels = changed(levels, limits, amountsOf(wanted))
      }
    }),
  )
})

test('what was let in by any moment is at most the limit, what has flowed back, and one request that found nothing taken', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), fc.array(step, { maxLength: 80 }), (perMinute, steps) => {
      const limits = limited(perMinute)
      let [levels, nowMs, admitted, largest] = [levelsAt(undefined, limits, 0), 0, 0, 0]
      for (const { afterMs, tokens } of steps) {
        nowMs += Math.abs(afterMs)
        levels = levelsAt(levels, limits, nowMs)
        if (waitMsFor(levels, limits, { inputTokens: tokens }) > 0) continue
        levels = changed(levels, limits, amountsOf({ inputTokens: tokens }))
        admitted += tokens
        largest = Math.max(largest, tokens)
        expect(admitted).toBeLessThanOrEqual((perMinute * nowMs) / 60_000 + Math.max(perMinute, largest) + 1e-3)
      }
    }),
  )
})

test('a refused request that comes again after the time it was told is let in, and a millisecond before it is not', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), fc.nat(50_000), fc.nat(50_000), (perMinute, taken, tokens) => {
      const limits = limited(perMinute)
      const levels = { requests: 0, input: taken, output: 0, atMs: 0 }
      const wanted = { inputTokens: tokens }
      const waitMs = waitMsFor(levels, limits, wanted)
      expect(waitMsFor(levelsAt(levels, limits, waitMs), limits, wanted)).toBe(0)
      if (waitMs > 1) expect(waitMsFor(levelsAt(levels, limits, waitMs - 1), limits, wanted)).toBeGreaterThan(0)
    }),
  )
})

describe('one request of any size', () => {
  test('is let in where nothing is taken, and is paid back in full before the next one', () => {
    const limits = limited(1_000)
    const levels = changed(levelsAt(undefined, limits, 0), limits, amountsOf({ inputTokens: 10_000 }))
    expect(waitMsFor(levels, limits, { inputTokens: 1 })).toBe((9_001 / 1_000) * 60_000)
    expect(waitMsFor(levels, limits, { inputTokens: 2_000 })).toBe(10 * 60_000)
  })

  test('is not let in where a single token is taken', () => {
    expect(waitMsFor({ requests: 0, input: 1, output: 0 }, limited(1_000), { inputTokens: 1_001 })).toBe(60)
  })
})

test('output counts nothing when a request comes, and lets none in while all of it is taken', () => {
  const limits = limited(1_000_000, 100)
  expect(waitMsFor({ requests: 0, input: 0, output: 99 }, limits, { inputTokens: 5 })).toBe(0)
  expect(waitMsFor({ requests: 0, input: 0, output: 100 }, limits, { inputTokens: 5 })).toBe(600)
  // Counting tokens and listing models take none.
  expect(waitMsFor({ requests: 0, input: 9e9, output: 9e9 }, limits, { inputTokens: null })).toBe(0)
})

test('a limit that is taken away or lowered counts at once, and what is shown is never less than nothing', () => {
  const levels = { requests: 0, input: 500, output: 0, atMs: 0 }
  expect(bucketState(levels, limited(1_000), 'input')).toEqual({ limit: 1_000, remaining: 500, resetMs: 30_000 })
  expect(bucketState(levels, limited(100), 'input')).toEqual({ limit: 100, remaining: 0, resetMs: 300_000 })
  expect(bucketState(levels, limited(100), 'output')).toBeUndefined()
  expect(rateLimitsOf({ requestsPerMinute: null })).toBeUndefined()
  expect(rateLimitsOf({ concurrentRequests: 3 })).toEqual({
    requestsPerMinute: null,
    inputTokensPerMinute: null,
    outputTokensPerMinute: null,
    concurrentRequests: 3,
  })
})

test('of a correction what has flowed back by time does not come back once more, and what is owed is owed whole', () => {
  const back = (tokens: number, counted: number, passedMs: number): number =>
    comingBack({ ...NO_AMOUNTS, input: tokens }, { ...NO_AMOUNTS, input: counted }, limited(60), passedMs).input
  expect([back(-100, 100, 0), back(-100, 100, 30_000), back(-50, 100, 30_000), back(-100, 100, 600_000) === 0]).toEqual([
    -100,
    -70,
    -50,
    true,
  ])
  expect([back(20, 100, 0), back(20, 100, 600_000)]).toEqual([20, 20])
})
