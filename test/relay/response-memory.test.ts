/** Answers that later requests refer to: only for their key, for an hour, within a bound. Rules: requests.md "Remembered answers". */

import { expect, test } from 'bun:test'
import { ResponseMemory } from '../../src/relay/response-memory.ts'

const MINUTE_MS = 60_000
const ITEMS = [
  { role: 'user', content: 'hi' },
  { id: 'msg_1', type: 'message', role: 'assistant', content: 'hello' },
]

function memoryAt(maxBytes?: number) {
  const clock = { now: 1_000 }
  return { clock, memory: new ResponseMemory({ now: () => clock.now, ...(maxBytes === undefined ? {} : { maxBytes }) }) }
}

test('an answer is recalled by its id, an item by its own, as often as it is asked for', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: ITEMS })
  for (let time = 0; time < 2; time++) {
    expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
    expect(memory.recall('key_1', 'msg_1')).toEqual([ITEMS[1]])
  }
  expect(memory.recall('key_1', 'msg_2')).toBeUndefined()
})

test('a key never sees what another key was answered', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: ITEMS })
  for (const [key, id] of [
    ['key_2', 'resp_1'],
    ['key_2', 'msg_1'],
    ['key', '1:resp_1'],
    ['', 'key_1:resp_1'],
  ] as const) {
    expect(memory.recall(key, id)).toBeUndefined()
  }
})

test('an answer is forgotten after an hour, however often it was recalled', () => {
  const { clock, memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: ITEMS })
  clock.now += 59 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
  clock.now += 2 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_1')).toBeUndefined()
})

test('an item of a later answer is found there when the earlier one is forgotten', () => {
  const { clock, memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: ITEMS })
  clock.now += 40 * MINUTE_MS
  memory.remember('key_1', { responseId: 'resp_2', items: [...ITEMS, { id: 'msg_2' }] })
  clock.now += 40 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_1')).toEqual([ITEMS[1]])
})

test('the memory is bounded in bytes: the oldest answers go, and one that is too large is not kept', () => {
  const { memory } = memoryAt(10_000)
  const items = (text: string) => [{ id: `msg_${text}`, content: text.repeat(1_000) }]
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) memory.remember('key_1', { responseId: `resp_${name}`, items: items(name) })
  expect(memory.recall('key_1', 'resp_a')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_a')).toBeUndefined()
  expect(memory.recall('key_1', 'resp_f')).toEqual(items('f'))
  memory.remember('key_1', { responseId: 'resp_x', items: [{ id: 'msg_x', content: 'x'.repeat(20_000) }] })
  expect(memory.recall('key_1', 'resp_x')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_x')).toBeUndefined()
  expect(memory.recall('key_1', 'resp_f')).toEqual(items('f'))
})

test('what is recalled is a copy: changing it changes nothing for the next one', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: ITEMS })
  const [first] = memory.recall('key_1', 'resp_1') as { content: string }[]
  if (first !== undefined) first.content = 'changed'
  expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
})
