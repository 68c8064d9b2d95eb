/**
 * Protects keys.md "Rates" at the gate: what a request was counted too much comes back once, by time or by its end, so that no order of ends makes a burst; and a limit that is changed while requests
 * run forgets nothing of what was taken.
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Catalog } from '../../src/core/catalog.ts'
import type { KeyRecord } from '../../src/core/key.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { changed, comingBack, type Levels, levelsAt, NO_AMOUNTS, type RateLimits, rateLimitsOf } from '../../src/core/token-buckets.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { CountedRates } from '../../src/ledger/counted-rates.ts'
import { type Rated, RateGate, ratesHere } from '../../src/relay/rate-gate.ts'

const KEY: KeyRecord = {
  ...{ id: 'key_1', accountId: 'acc_1', name: '', display: '', plan: 'p', limitPicos: null },
  ...{ expiresAt: null, isActive: true, isAccountActive: true },
}

function makeGate(rates: Partial<RateLimits>) {
  const state = { ms: 0, rates }
  const planOf = () => ({ name: 'p', models: ['*'], rates: rateLimitsOf(state.rates) as RateLimits })
  const catalog = (): Catalog => ({ models: new Map(), plans: new Map([['p', planOf()]]) })
  const now = () => state.ms
  const gate = new RateGate({ catalog, now, wallNow: () => 0, store: ratesHere(new CountedRates(now)) })
  const admit = (tokens: number): Rated | undefined => {
    const answer = gate.admit(KEY, tokens)
    if (answer instanceof Promise) throw new Error('asked elsewhere')
    return answer instanceof Refusal ? undefined : answer
  }
  return { state, admit, headers: () => gate.headers(KEY) }
}

test.each(['settle', 'release'] as const)('input that has flowed back by time does not come back again with the %s', (how) => {
  const { state, admit } = makeGate({ inputTokensPerMinute: 1_000 })
  const first = admit(1_000)
  state.ms = 60_000
  expect(admit(1_000)).toBeDefined()
  if (how === 'settle') first?.settle(NO_USAGE)
  else first?.release()
  expect(admit(1)).toBeUndefined()
})

test('of a request that waited half a minute half of what was counted may come back, and no more than it did not use', () => {
  for (const [used, left] of [
    [0, 1_000],
    [200, 1_000],
    [700, 800],
    [1_000, 500],
    [1_500, 0],
  ] as const) {
    const { state, admit, headers } = makeGate({ inputTokensPerMinute: 1_000 })
    const request = admit(1_000)
    state.ms = 30_000
    request?.settle({ ...NO_USAGE, input: used })
    expect([used, Number(headers()['anthropic-ratelimit-input-tokens-remaining'])]).toEqual([used, left])
  }
})

test('a request that is called off late does not bring its place in the minute back twice', () => {
  const { state, admit } = makeGate({ requestsPerMinute: 2 })
  const first = admit(0)
  state.ms = 60_000
  expect([admit(0), admit(0)].every((one) => one !== undefined)).toBe(true)
  first?.cancel()
  expect(admit(0)).toBeUndefined()
})

test('a limit that is set while requests run keeps what was taken of it, whichever limits their ends were counted by', () => {
  const { state, admit, headers } = makeGate({ requestsPerMinute: 100 })
  const early = admit(10)
  state.rates = { requestsPerMinute: 100, inputTokensPerMinute: 1_000 }
  expect(admit(900)).toBeDefined()
  early?.settle({ ...NO_USAGE, input: 10 })
  early?.release()
  expect(Number(headers()['anthropic-ratelimit-input-tokens-remaining'])).toBe(100)
  expect(admit(200)).toBeUndefined()
})

test('over any history of counts and corrections a bucket is never emptier than if each request had been counted as what it used', () => {
  const limits: RateLimits = {
    ...{ requestsPerMinute: null, outputTokensPerMinute: null, concurrentRequests: null },
    inputTokensPerMinute: 600,
  }
  const request = fc.record({
    at: fc.integer({ min: 0, max: 200 }),
    lasts: fc.integer({ min: 0, max: 200 }),
    counted: fc.nat(500),
    used: fc.nat(500),
  })
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 8 }), (requests) => {
      const levelAfter = (events: readonly { at: number; input: number }[]): Levels =>
        events
          .toSorted((a, b) => a.at - b.at)
          .reduce<Levels>((levels, { at, input }) => changed(levelsAt(levels, limits, at * 1_000), limits, { ...NO_AMOUNTS, input }), {
            ...NO_AMOUNTS,
            atMs: 0,
          })
      const truth = levelAfter([...requests.map(({ at, used }) => ({ at, input: used })), { at: 400, input: 0 }])
      const kept = levelAfter([
        ...requests.flatMap(({ at, lasts, counted, used }) => {
          const amounts = { ...NO_AMOUNTS, input: Math.min(0, used - counted) }
          const back = comingBack(amounts, { ...NO_AMOUNTS, input: counted }, limits, lasts * 1_000)
          return [
            { at, input: Math.max(counted, used) },
            { at: at + lasts, input: back.input },
          ]
        }),
        { at: 400, input: 0 },
      ])
      expect(kept.input).toBeGreaterThanOrEqual(truth.input - 1e-6)
      if (requests.length === 1) expect(kept.input).toBeCloseTo(truth.input, 6)
    }),
  )
})

test('a process that still knows the limits of before a change corrects what it counted, and forgets nothing of what others took', () => {
  const counted = new CountedRates(() => 0)
  const owner = (rates: Partial<RateLimits>) => ({ name: 'plan acc_1 p', limits: rateLimitsOf(rates) as RateLimits, running: 1 })
  const [before, after] = [owner({ requestsPerMinute: 10 }), owner({ requestsPerMinute: 10, inputTokensPerMinute: 1_000 })]
  counted.take(1, { owners: [before], wanted: { inputTokens: 5 }, slots: 1 })
  counted.take(2, { owners: [after], wanted: { inputTokens: 900 }, slots: 1 })
  counted.correct(1, [{ owner: before, amounts: { ...NO_AMOUNTS, requests: -1 } }])
  expect(counted.take(2, { owners: [after], wanted: { inputTokens: 0 }, slots: 1 }).owners).toEqual([
    { requests: 2, input: 900, output: 0, isFull: false },
  ])
})
