/** Answers that later requests refer to: only for their key, for an hour, within a bound. Rules: requests.md "Remembered answers". */

import { expect, test } from 'bun:test'
import type { FinishedItem } from '../../src/core/transcoder.ts'
import { ResponseMemory } from '../../src/relay/response-memory.ts'

const MINUTE_MS = 60_000
const ITEMS = [
  { role: 'user', content: 'hi' },
  { id: 'msg_1', type: 'message', role: 'assistant', content: 'hello' },
]

const written = (...items: readonly Readonly<{ id?: string; content?: string }>[]): readonly FinishedItem[] =>
  items.map((item) => ({ ...(item.id === undefined ? {} : { id: item.id }), json: Buffer.from(JSON.stringify(item)) }))

function memoryAt(maxBytes?: number) {
  const clock = { now: 1_000 }
  return { clock, memory: new ResponseMemory({ now: () => clock.now, ...(maxBytes === undefined ? {} : { maxBytes }) }) }
}

test('an answer is recalled by its id, an item by its own, as often as it is asked for', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: written(...ITEMS) })
  for (let time = 0; time < 2; time++) {
    expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
    expect(memory.recall('key_1', 'msg_1')).toEqual([ITEMS[1]])
  }
  expect(memory.recall('key_1', 'msg_2')).toBeUndefined()
})

test('a key never sees what another key was answered', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: written(...ITEMS) })
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
  memory.remember('key_1', { responseId: 'resp_1', items: written(...ITEMS) })
  clock.now += 59 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
  clock.now += 2 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_1')).toBeUndefined()
})

test('an item of a later answer is found there when the earlier one is forgotten', () => {
  const { clock, memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: written(...ITEMS) })
  clock.now += 40 * MINUTE_MS
  memory.remember('key_1', { responseId: 'resp_2', items: written(...ITEMS, { id: 'msg_2' }) })
  clock.now += 40 * MINUTE_MS
  expect(memory.recall('key_1', 'resp_1')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_1')).toEqual([ITEMS[1]])
})

test('the memory is bounded in bytes: the oldest answers go, and one that is too large is not kept', () => {
  const { memory } = memoryAt(5_000)
  const items = (text: string) => [{ id: `msg_${text}`, content: text.repeat(1_000) }]
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
    memory.remember('key_1', { responseId: `resp_${name}`, items: written(...items(name)) })
  expect(memory.recall('key_1', 'resp_a')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_a')).toBeUndefined()
  expect(memory.recall('key_1', 'resp_f')).toEqual(items('f'))
  memory.remember('key_1', { responseId: 'resp_x', items: written({ id: 'msg_x', content: 'x'.repeat(20_000) }) })
  expect(memory.recall('key_1', 'resp_x')).toBeUndefined()
  expect(memory.recall('key_1', 'msg_x')).toBeUndefined()
  expect(memory.recall('key_1', 'resp_f')).toEqual(items('f'))
})

test('the bound counts the bytes of every piece that is kept: many small items fill it as one large one does', () => {
  const { memory } = memoryAt(100_000)
  const pieces = [Buffer.from('{"content":"'), Buffer.alloc(60_000, 'a'), Buffer.from('"}')]
  memory.remember('key_1', { responseId: 'resp_1', items: [{ json: pieces }] })
  expect(memory.recall('key_1', 'resp_1')).toEqual([{ content: 'a'.repeat(60_000) }])
  memory.remember('key_1', { responseId: 'resp_2', items: written(...Array.from({ length: 300 }, () => ({ content: 'b' }))) })
  expect(memory.recall('key_1', 'resp_1')).toBeUndefined()
  expect(memory.recall('key_1', 'resp_2')).toHaveLength(300)
})

test('letters of several bytes and exact numbers come back as they were written, also where a piece ends within a letter', () => {
  const { memory } = memoryAt()
  const json = Buffer.from('{"text":"né 😀","n":[12345678901234567890,1.0]}')
  for (let at = 1; at < json.length; at++) {
    memory.remember('key_1', { responseId: `resp_${at}`, items: [{ json: [json.subarray(0, at), json.subarray(at)] }] })
    expect(JSON.stringify(memory.recall('key_1', `resp_${at}`))).toBe(`[${json.toString()}]`)
  }
})

test('what is recalled is a copy: changing it changes nothing for the next one', () => {
  const { memory } = memoryAt()
  memory.remember('key_1', { responseId: 'resp_1', items: written(...ITEMS) })
  const [first] = memory.recall('key_1', 'resp_1') as { content: string }[]
  if (first !== undefined) first.content = 'changed'
  expect(memory.recall('key_1', 'resp_1')).toEqual(ITEMS)
})
