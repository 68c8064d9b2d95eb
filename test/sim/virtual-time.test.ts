/** Protects what every simulated world stands on: time moves only when it is told, so that a seed decides the order of everything. */

import { expect, test } from 'bun:test'
import { VirtualTime } from './virtual-time.ts'

test('while a world runs no clock of the process moves by itself, and each goes on from where it was afterwards', () => {
  const before = { wallMs: Date.now(), monotonicMs: performance.now() }
  const time = new VirtualTime()
  try {
    const started = { wallMs: Date.now(), monotonicMs: performance.now() }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    expect({ wallMs: Date.now(), monotonicMs: performance.now() }).toEqual(started)
    time.advance(7_000)
    time.stepClock(-2_000)
    expect(Date.now() - started.wallMs).toBe(5_000)
    expect(performance.now() - started.monotonicMs).toBe(7_000)
  } finally {
    time.restore()
  }
  expect(Date.now() - before.wallMs).toBeGreaterThanOrEqual(5)
  expect(performance.now() - before.monotonicMs).toBeGreaterThanOrEqual(5)
})
