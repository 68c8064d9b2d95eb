/** Protects the benchmark's upstream and its requests: a plan passes through a prompt, a body has about the size asked for, and every event the same length. */

import { expect, test } from 'bun:test'
import { outlasting } from '../../bench/load/loads.ts'
import { streamsFor } from '../../bench/load/memory.ts'
import { chatBody, deltas, IN_ONE_PIECE, MARK, readPlan, STREAM_BEGIN, STREAM_END, WHOLE_ANSWER } from '../../bench/load/wire.ts'

test('a plan is read out of the request that asks for it', () => {
  const plan = { events: 1_600, perWrite: 8, everyMs: 20 }
  expect(readPlan(chatBody(plan))).toEqual(plan)
  expect(readPlan(chatBody(IN_ONE_PIECE, 100_000))).toEqual(IN_ONE_PIECE)
  expect(readPlan('plan:1,2')).toBeUndefined()
})

test('a large body is a conversation of about that size, whose turns alternate and end with the user', () => {
  for (const bytes of [0, 100_000, 108_000, 30_000_000]) {
    const { messages } = JSON.parse(chatBody(IN_ONE_PIECE, bytes)) as { messages: { role: string }[] }
    expect(messages.every(({ role }, index) => role === (index % 2 === 0 ? 'user' : 'assistant'))).toBe(true)
    expect(messages.at(-1)?.role).toBe('user')
    if (bytes > 0) expect(Math.abs(chatBody(IN_ONE_PIECE, bytes).length / bytes - 1)).toBeLessThan(0.1)
  }
})

test('the mark of an event stands nowhere else, and all events are of one length', () => {
  expect([STREAM_BEGIN, STREAM_END, WHOLE_ANSWER, chatBody(IN_ONE_PIECE)].filter((text) => text.includes(MARK))).toEqual([])
  expect(deltas(8).split(MARK)).toHaveLength(9)
  expect(
    new Set(
      deltas(8)
        .split(MARK)
        .slice(1, -1)
        .map((text) => text.length),
    ).size,
  ).toBe(1)
})

test('a paced stream outlasts its window in whole writes; one with an end of its own keeps it', () => {
  expect(outlasting({ events: Number.POSITIVE_INFINITY, perWrite: 8, everyMs: 20 }, 1_010)).toEqual({
    events: 408,
    perWrite: 8,
    everyMs: 20,
  })
  expect(outlasting({ events: 25, perWrite: 1, everyMs: 20 }, 60_000).events).toBe(25)
})

test('no more streams are opened than the machine has files for', () => {
  expect([streamsFor(1_048_576), streamsFor(20_000), streamsFor(4_096)]).toEqual([5_000, 5_000, 1_798])
})
