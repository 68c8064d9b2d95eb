/** The garbage of many requests is collected once the process is idle, and never while it answers. Rules: platform.md "Memory". */

import { expect, spyOn, test } from 'bun:test'
import { IdleGarbage } from '../../src/relay/idle-garbage.ts'
import { startTestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const SECOND_MS = 1_000

function idleGarbage() {
  const timers: { atMs: number; run: () => void }[] = []
  const seen = { nowMs: 0, collectedAt: [] as number[], isIdle: true }
  const garbage = new IdleGarbage({
    now: () => seen.nowMs,
    after: (ms, run) => void timers.push({ atMs: seen.nowMs + ms, run }),
    isIdle: () => seen.isIdle,
    collect: () => void seen.collectedAt.push(seen.nowMs / SECOND_MS),
  })
  const end = (count: number): void => {
    for (let n = 0; n < count; n++) garbage.onEnd()
  }
  const pass = (seconds = 1): void => {
    const untilMs = seen.nowMs + seconds * SECOND_MS
    for (;;) {
      const next = timers.findIndex(({ atMs }) => atMs <= untilMs)
      if (next === -1) break
      const [due] = timers.splice(next, 1)
      seen.nowMs = due?.atMs ?? untilMs
      due?.run()
    }
    seen.nowMs = untilMs
  }
  return { seen, garbage, timers, end, pass }
}

test('what a thousand requests have left is collected once, a second after the last of them', () => {
  const { seen, timers, end, pass } = idleGarbage()
  end(999)
  expect(timers.length).toBe(0)
  end(1)
  expect(timers.length).toBe(1)
  pass(60)
  expect(seen.collectedAt).toEqual([1])
  end(999)
  pass(60)
  expect(seen.collectedAt).toEqual([1])
  end(1)
  pass(60)
  expect(seen.collectedAt).toEqual([1, 121])
})

test('nothing is collected while requests end within a second of each other, or run', () => {
  const { seen, timers, end, pass } = idleGarbage()
  seen.isIdle = false
  end(5_000)
  expect(timers.length).toBe(0)
  seen.isIdle = true
  end(1)
  for (let second = 0; second < 30; second++) {
    end(1)
    pass()
    expect(timers.length).toBe(1)
  }
  seen.isIdle = false
  pass()
  expect(seen.collectedAt).toEqual([])
  seen.isIdle = true
  pass()
  expect(seen.collectedAt).toEqual([32])
  expect(timers.length).toBe(0)
})

test('what a crowd has left is collected once, a second after most of it has gone, also while the rest runs', () => {
  const { seen, garbage, end, pass } = idleGarbage()
  seen.isIdle = false
  end(950)
  garbage.onCalm()
  // Both signals ask for the same collection.
  seen.isIdle = true
  end(50)
  pass(60)
  expect(seen.collectedAt).toEqual([1])
  seen.isIdle = false
  end(950)
  garbage.onCalm()
  pass(60)
  expect(seen.collectedAt).toEqual([1, 61])
  seen.isIdle = true
  end(50)
  pass(60)
  expect(seen.collectedAt).toEqual([1, 61])
})

test('whatever asks for it, collections are ten seconds apart', () => {
  const { seen, garbage, end, pass } = idleGarbage()
  for (let second = 0; second < 60; second++) {
    end(1_000)
    garbage.onCalm()
    pass()
  }
  expect(seen.collectedAt).toEqual([1, 11, 21, 31, 41, 51])
  // Refused requests, a thousand in an instant and again.
  pass(60)
  seen.collectedAt.splice(0)
  for (let burst = 0; burst < 15; burst++) {
    end(1_000)
    pass(2)
  }
  expect(seen.collectedAt.length).toBe(3)
})

test('a gateway collects what its requests have left', async () => {
  await using gateway = await startTestGateway()
  const secret = await gateway.createKey()
  // Not before: the framework collects as it starts.
  using collect = spyOn(Bun, 'gc')
  for (let n = 0; n < 1_000; n++) expect((await gateway.post('/v1/messages', secret, {})).status).toBe(400)
  await until(() => collect.mock.calls.length > 0, 'it is collected')
  expect(collect.mock.calls).toEqual([[true]])
})
