/** Alarms are kept by kind, with their count, their first and last time and what the last one said, in bounds. Rules: pages.md "Alarms of the console". */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { Alarms } from '../../src/observe/alarms.ts'
import { Pulse } from '../../src/observe/pulse.ts'

test('a kind is one entry, the last first, with what the last one said', () => {
  let now = 1_000
  const alarms = new Alarms(() => now)
  alarms.add('ledger', { fault: 'a write failed' })
  now = 2_000
  alarms.add('upstream', { upstream: 'north', cause: 'status 401', model: undefined })
  now = 3_000
  alarms.add('ledger', { fault: 'x'.repeat(1_000) })
  expect(alarms.list()).toMatchObject([
    { what: 'ledger', count: 2, firstAt: 1_000, lastAt: 3_000 },
    { what: 'upstream', count: 1, detail: 'upstream: north · cause: status 401' },
  ])
  expect(alarms.list()[0]?.detail.length).toBe(300)
})

test('kinds without end take no memory without end', () => {
  const alarms = new Alarms(() => 0)
  for (let kind = 0; kind < 1_000; kind++) alarms.add(`kind ${kind}`)
  expect(alarms.list().length).toBe(64)
  expect(alarms.list()[0]?.what).toBe('kind 999')
})

test('what was lost of caches and of thinking is of the UTC day', () => {
  let now = 86_400_000 - 1
  const pulse = new Pulse({ monotonicMs: () => 0, now: () => now })
  const line = { requestId: 'req_1', route: '/v1/messages', status: 200, durationMs: 1, cacheLostPicos: picos(5n), hasLostThinking: true }
  pulse.ended(line)
  pulse.ended(line)
  expect(pulse.read()).toMatchObject({ cacheLostPicos: picos(10n), thinkingLost: 2 })
  now += 1
  expect(pulse.read()).toMatchObject({ cacheLostPicos: picos(0n), thinkingLost: 0 })
  pulse.ended(line)
  expect(pulse.read()).toMatchObject({ cacheLostPicos: picos(5n), thinkingLost: 1 })
})
