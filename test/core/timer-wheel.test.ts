/** What waits is called once, when its time has come and not before, however the clock jumps and whatever enters and leaves meanwhile. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { NO_TICK, TICK_MS, type Timed, TimerWheel } from '../../src/core/timer-wheel.ts'
import { runs } from '../support/property-runs.ts'

function waiter(onTime: (nowMs: number) => void): Timed {
  return { tick: NO_TICK, onTime }
}

test('each waits for its own time, also for more than a round of the wheel, and is called at most a tick late', () => {
  const wheel = new TimerWheel()
  const calls: [number, number][] = []
  const times = [0, 1, 15, 16, 17, 300, 8_192, 8_193, 60_000, 600_000]
  for (const dueMs of times)
    wheel.set(
      waiter(() => calls.push([dueMs, now])),
      dueMs,
    )
  let now = 0
  for (; now <= 600_100; now += 4) wheel.turn(now)
  expect(calls.map(([dueMs]) => dueMs).sort((a, b) => a - b)).toEqual(times)
  for (const [dueMs, calledMs] of calls) expect([dueMs, calledMs >= dueMs, calledMs - dueMs <= TICK_MS + 4]).toEqual([dueMs, true, true])
  expect(wheel.isEmpty).toBe(true)
})

test('one that is called may enter again, for a time that has passed too, without being called twice in a turn', () => {
  const wheel = new TimerWheel()
  const calls: number[] = []
  const again = waiter((nowMs) => {
    calls.push(nowMs)
    if (calls.length < 3) wheel.set(again, nowMs - 5)
  })
  wheel.set(again, 100)
  wheel.turn(1_000)
  expect(calls).toEqual([1_000])
  wheel.turn(1_000 + TICK_MS)
  wheel.turn(1_000 + 3 * TICK_MS)
  wheel.turn(1_000 + 9 * TICK_MS)
  expect(calls).toEqual([1_000, 1_000 + TICK_MS, 1_000 + 3 * TICK_MS])
})

test('whoever turns it is told when there is something to wait for, once', () => {
  let starts = 0
  const wheel = new TimerWheel(() => starts++)
  const [one, other] = [waiter(() => undefined), waiter(() => undefined)]
  wheel.set(one, 10)
  wheel.set(other, 10)
  wheel.set(one, 20)
  wheel.drop(one)
  wheel.drop(one)
  expect([starts, wheel.isEmpty]).toEqual([1, false])
  wheel.turn(1_000)
  expect(wheel.isEmpty).toBe(true)
  wheel.set(one, 10)
  expect(starts).toBe(2)
})

test('it does as a list would that is searched on every turn', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('set' as const), who: fc.nat(7), inMs: fc.integer({ min: -50, max: 20_000 }) }),
    fc.record({ do: fc.constant('drop' as const), who: fc.nat(7) }),
    fc.record({ do: fc.constant('turn' as const), byMs: fc.oneof(fc.nat(40), fc.nat(30_000)) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const wheel = new TimerWheel()
      let called: number[] = []
      const timed = Array.from({ length: 8 }, (_, who) => waiter(() => called.push(who)))
      const dueTicks = new Map<number, number>()
      let now = 0
      let lastTick = 0
      for (const one of steps) {
        if (one.do === 'turn') {
          now += one.byMs
          lastTick = Math.max(lastTick, Math.floor(now / TICK_MS))
          called = []
          wheel.turn(now)
          const due = [...dueTicks].filter(([, tick]) => tick <= lastTick).map(([who]) => who)
          for (const who of due) dueTicks.delete(who)
          expect(called.sort()).toEqual(due.sort())
          continue
        }
        const who = timed[one.who]
        if (who === undefined) continue
        if (one.do === 'drop') {
          wheel.drop(who)
          dueTicks.delete(one.who)
        } else {
          wheel.set(who, now + one.inMs)
          dueTicks.set(one.who, Math.max(lastTick + 1, Math.ceil((now + one.inMs) / TICK_MS)))
        }
        expect(wheel.isEmpty).toBe(dueTicks.size === 0)
      }
    }),
    { numRuns: runs(300) },
  )
})
