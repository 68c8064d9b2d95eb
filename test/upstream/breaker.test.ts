/** An upstream in trouble is left alone, asked again with one probe, and not left alone for ever. Rules: pool.md "Breaker". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Breaker, type Failure } from '../../src/upstream/breaker.ts'

const T = 1_800_000_000_000
const BROKEN: Failure = 'broken'
const DEAD: Failure = 'dead'
const breaker = (): Breaker => new Breaker(() => 0)
const outMs = (one: Breaker, now: number): number => (one.outUntil(now) ?? now) - now

test('it opens at half of ten calls, not before', () => {
  const one = breaker()
  for (let call = 0; call < 5; call++) one.succeeded(T)
  for (let call = 0; call < 4; call++) one.failed(T, BROKEN)
  expect(one.state(T)).toBe('closed')
  one.failed(T, BROKEN)
  expect(one.state(T)).toBe('open')
})

test('a few failures of many calls, and failures of long ago, do not open it', () => {
  const one = breaker()
  for (let call = 0; call < 9; call++) one.failed(T, BROKEN)
  for (let call = 0; call < 9; call++) one.failed(T + 11_000, BROKEN)
  expect(one.state(T + 11_000)).toBe('closed')
  for (let call = 0; call < 30; call++) one.succeeded(T + 12_000)
  for (let call = 0; call < 15; call++) one.failed(T + 12_000, BROKEN)
  expect(one.state(T + 12_000)).toBe('closed')
})

test('a dead address and trouble with our account open it at once; the account for longer', () => {
  const [dead, account] = [breaker(), breaker()]
  dead.failed(T, DEAD)
  account.failed(T, 'account')
  expect(outMs(dead, T)).toBe(1_000)
  expect(outMs(account, T)).toBe(15_000)
})

test('it is out for as long as it asks everyone for, and an answer to a call that began later ends that', () => {
  const one = breaker()
  one.busy(T + 40, { outMs: 7_000, sinceMs: T })
  expect(outMs(one, T + 40)).toBe(7_000)
  expect(one.outUntil(T + 7_039)).toBe(T + 7_040)
  expect(one.outUntil(T + 7_040)).toBeUndefined()
  one.succeeded(T + 50, T - 1)
  expect(one.state(T + 50), 'it had begun before').toBe('open')
  one.succeeded(T + 60, T + 20)
  expect(one.state(T + 60)).toBe('closed')
})

test('after its time out one probe goes there, and decides', () => {
  const one = breaker()
  one.failed(T, DEAD)
  const later = T + 1_000
  expect(one.state(later)).toBe('half-open')
  expect(one.outUntil(later)).toBeUndefined()
  one.begin(later)
  expect(one.outUntil(later)).toBeGreaterThan(later)
  one.succeeded(later + 10)
  expect(one.state(later + 10)).toBe('closed')
  expect(one.outUntil(later + 10)).toBeUndefined()
})

test('failed probes double the time out, up to half a minute; success forgets it', () => {
  const one = breaker()
  let now = T
  const outs: number[] = []
  for (let probe = 0; probe < 8; probe++) {
    one.begin(now)
    one.failed(now, DEAD)
    outs.push(outMs(one, now))
    now += outMs(one, now)
  }
  expect(outs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  one.begin(now)
  one.succeeded(now)
  one.failed(now, DEAD)
  expect(outMs(one, now)).toBe(1_000)
})

test('a crowd that was under way when it opened neither lengthens the time out nor ends it; what everyone is asked for counts', () => {
  const one = breaker()
  for (let call = 0; call < 100; call++) one.failed(T + call / 10, DEAD, T - 5)
  expect(one.outUntil(T + 10)).toBe(T + 1_000)
  one.succeeded(T + 20, T - 5)
  expect(one.state(T + 20)).toBe('open')
  one.busy(T + 30, { outMs: 4_000, sinceMs: T })
  expect(one.outUntil(T + 30)).toBe(T + 4_030)
  one.begin(T + 4_030)
  one.failed(T + 4_040, BROKEN, T + 4_030)
  expect(outMs(one, T + 4_040)).toBe(2_000)
})

test('gateways that put it out together do not probe together: each time out is drawn from its last quarter', () => {
  const outs = [0, 0.5, 0.999].map((draw) => {
    const one = new Breaker(() => draw)
    one.failed(T, DEAD)
    return Math.round(outMs(one, T))
  })
  expect(outs).toEqual([1_000, 875, 750])
})

test('what opened it is not counted again once a probe has brought it back', () => {
  const one = breaker()
  for (let call = 0; call < 10; call++) one.failed(T, BROKEN)
  one.begin(T + 1_000)
  one.succeeded(T + 1_000, T + 1_000)
  for (let call = 0; call < 8; call++) one.failed(T + 2_000, BROKEN)
  expect(one.state(T + 2_000)).toBe('closed')
  one.failed(T + 2_000, BROKEN)
  expect(one.state(T + 2_000), 'nine of ten').toBe('open')
})

test('a probe whose client left makes room for the next one', () => {
  const one = breaker()
  one.failed(T, DEAD)
  one.begin(T + 1_000)
  one.abandoned()
  expect(one.outUntil(T + 1_000)).toBeUndefined()
})

test('whatever happens, it is never out for more than five minutes, and a success always brings it back', () => {
  const busy = fc.nat(300_000).map((outMs) => ({ outMs }))
  const word = fc.constantFrom('ok', 'begin', 'abandoned', BROKEN, DEAD, 'account' as const)
  const step = fc.record({ gapMs: fc.nat(40_000), what: fc.oneof(word, busy) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (steps, draw) => {
      const one = new Breaker(() => draw)
      let now = T
      for (const { gapMs, what } of steps) {
        now += gapMs
        if (what === 'begin') {
          if (one.outUntil(now) === undefined) one.begin(now)
        } else if (what === 'ok') one.succeeded(now)
        else if (what === 'abandoned') one.abandoned()
        else if (typeof what === 'object') one.busy(now, { ...what, sinceMs: now })
        else one.failed(now, what)
        expect(outMs(one, now)).toBeLessThanOrEqual(600_000)
        if (one.state(now) === 'open') expect(outMs(one, now)).toBeLessThanOrEqual(300_000)
        if (what === 'ok') expect(one.state(now)).toBe('closed')
      }
    }),
  )
})
