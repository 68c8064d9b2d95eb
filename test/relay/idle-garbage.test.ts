/** The garbage of many requests is collected once the process is idle, and never while it answers. Rules: platform.md "Memory". */

import { expect, spyOn, test } from 'bun:test'
import { IdleGarbage } from '../../src/relay/idle-garbage.ts'
import { startTestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

function idleGarbage() {
  const due: (() => void)[] = []
  const seen = { collected: 0, isIdle: true }
  const garbage = new IdleGarbage({
    soon: (run) => void due.push(run),
    isIdle: () => seen.isIdle,
    collect: () => void seen.collected++,
  })
  const end = (count: number): void => {
    for (let n = 0; n < count; n++) garbage.onEnd()
  }
  /** A second passes. */
  const pass = (): void => due.splice(0).forEach((run) => void run())
  return { seen, due, end, pass }
}

test('what a thousand requests have left is collected once, a second after the last of them', () => {
  const { seen, due, end, pass } = idleGarbage()
  end(1_000)
  expect([due.length, seen.collected]).toEqual([1, 0])
  pass()
  pass()
  expect(seen.collected).toBe(1)
  end(999)
  pass()
  expect(seen.collected).toBe(1)
  end(1)
  pass()
  expect(seen.collected).toBe(2)
})

test('nothing is collected while requests end within a second of each other, or run', () => {
  const { seen, due, end, pass } = idleGarbage()
  seen.isIdle = false
  end(5_000)
  expect(due).toEqual([])
  seen.isIdle = true
  end(1)
  for (let second = 0; second < 10; second++) {
    end(1)
    expect(due.length).toBe(1)
    pass()
  }
  seen.isIdle = false
  pass()
  expect(seen.collected).toBe(0)
  seen.isIdle = true
  pass()
  expect([seen.collected, due.length]).toEqual([1, 0])
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
