/** Answers that later requests refer to: only for their key, for an hour, within a bound. Rules: requests.md "Remembered answers". */

import { expect, test } from 'bun:test'
import { parseExact } from '../../src/core/bytes/exact-json.ts'
import type { FinishedItem } from '../../src/core/transcoder.ts'
import { ResponseMemory } from '../../src/relay/response-memory.ts'

const KEY = { id: 'key_1', accountId: 'acc_1' }
const MINUTE_MS = 60_000
const ITEMS = [
  { role: 'user', content: 'hi' },
  { id: 'msg_1', type: 'message', role: 'assistant', content: 'hello' },
]

const written = (...items: readonly Readonly<{ id?: string; content?: string }>[]): readonly FinishedItem[] =>
  items.map((item) => ({ ...(item.id === undefined ? {} : { id: item.id }), json: Buffer.from(JSON.stringify(item)) }))

function memoryAt(bytesMax?: number) {
  const clock = { now: 1_000 }
  return { clock, memory: new ResponseMemory({ now: () => clock.now, ...(bytesMax === undefined ? {} : { bytesMax }) }) }
}

function recall(memory: ResponseMemory, keyId: string, id: string): unknown {
  const items = memory.written(keyId, id)
  return typeof items === 'string' ? items : items.map((json) => parseExact(json.toString()))
}

test('an answer is recalled by its id, an item by its own, as often as it is asked for', () => {
  const { memory } = memoryAt()
  memory.remember(KEY, { responseId: 'resp_1', items: written(...ITEMS) })
  for (let time = 0; time < 2; time++) {
    expect(recall(memory, 'key_1', 'resp_1')).toEqual(ITEMS)
    expect(recall(memory, 'key_1', 'msg_1')).toEqual([ITEMS[1]])
  }
  expect(recall(memory, 'key_1', 'msg_2')).toBe('unknown')
})

test('a key never sees what another key was answered', () => {
  const { memory } = memoryAt()
  memory.remember(KEY, { responseId: 'resp_1', items: written(...ITEMS) })
  for (const [key, id] of [
    ['key_2', 'resp_1'],
    ['key_2', 'msg_1'],
    ['key', '1:resp_1'],
    ['', 'key_1:resp_1'],
  ] as const) {
    expect(recall(memory, key, id)).toBe('unknown')
  }
})

test('an answer is forgotten after an hour, however often it was recalled', () => {
  const { clock, memory } = memoryAt()
  memory.remember(KEY, { responseId: 'resp_1', items: written(...ITEMS) })
  clock.now += 59 * MINUTE_MS
  expect(recall(memory, 'key_1', 'resp_1')).toEqual(ITEMS)
  clock.now += 2 * MINUTE_MS
  expect(recall(memory, 'key_1', 'resp_1')).toBe('expired')
  expect(recall(memory, 'key_1', 'msg_1')).toBe('unknown')
})

test('an item of a later answer is found there when the earlier one is forgotten', () => {
  const { clock, memory } = memoryAt()
  memory.remember(KEY, { responseId: 'resp_1', items: written(...ITEMS) })
  clock.now += 40 * MINUTE_MS
  memory.remember(KEY, { responseId: 'resp_2', items: written(...ITEMS, { id: 'msg_2' }) })
  clock.now += 40 * MINUTE_MS
  // Why it is not there stays known.
  for (let asked = 0; asked < 2; asked++) expect(recall(memory, 'key_1', 'resp_1')).toBe('expired')
  expect(recall(memory, 'key_1', 'msg_1')).toEqual([ITEMS[1]])
})

test('the memory is bounded in bytes: the oldest answers go, and one that is too large is not kept', () => {
  const { memory } = memoryAt(8 * 5_000)
  const items = (text: string) => [{ id: `msg_${text}`, content: text.repeat(1_000) }]
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) memory.remember(KEY, { responseId: `resp_${name}`, items: written(...items(name)) })
  expect(recall(memory, 'key_1', 'resp_a')).toBe('crowded')
  expect(recall(memory, 'key_1', 'msg_a')).toBe('unknown')
  expect(recall(memory, 'key_1', 'resp_f')).toEqual(items('f'))
  memory.remember(KEY, { responseId: 'resp_x', items: written({ id: 'msg_x', content: 'x'.repeat(20_000) }) })
  expect(recall(memory, 'key_1', 'resp_x')).toBe('crowded')
  expect(recall(memory, 'key_1', 'msg_x')).toBe('unknown')
  expect(recall(memory, 'key_1', 'resp_f')).toEqual(items('f'))
})

test("an account has an eighth: its own oldest answers make room, whatever key of it asked, and no neighbour's conversation ends", () => {
  const { memory } = memoryAt(8 * 5_000)
  const NEIGHBOUR = { id: 'key_n', accountId: 'acc_n' }
  memory.remember(NEIGHBOUR, { responseId: 'resp_n', items: written(...ITEMS) })
  for (let n = 0; n < 100; n++) {
    const key = { id: `key_${n % 2}`, accountId: 'acc_1' }
    memory.remember(key, { responseId: `resp_${n}`, items: written({ id: `msg_${n}`, content: 'x'.repeat(1_000) }) })
    expect(recall(memory, 'key_n', 'resp_n')).toEqual(ITEMS)
  }
  const left = Array.from({ length: 100 }, (_, n) => recall(memory, `key_${n % 2}`, `resp_${n}`)).map((found) => typeof found !== 'string')
  expect(left.indexOf(true)).toBe(98)
  expect(left.lastIndexOf(false)).toBe(97)
})

test('where many accounts fill the memory the oldest of all go, and the memory stays bounded', () => {
  const { memory } = memoryAt(8 * 5_000)
  for (let n = 0; n < 100; n++)
    memory.remember({ id: `key_${n}`, accountId: `acc_${n}` }, { responseId: 'resp', items: written({ content: 'x'.repeat(3_000) }) })
  const left = Array.from({ length: 100 }, (_, n) => recall(memory, `key_${n}`, 'resp')).filter((found) => typeof found !== 'string')
  expect(left.length).toBeGreaterThan(5)
  expect(left.length * 3_000).toBeLessThan(40_000)
  expect(recall(memory, 'key_0', 'resp')).toBe('crowded')
  expect(recall(memory, 'key_99', 'resp')).toEqual([{ content: 'x'.repeat(3_000) }])
})

test('the bound counts the bytes of every piece that is kept: many small items fill it as one large one does', () => {
  const { memory } = memoryAt(8 * 100_000)
  const pieces = [Buffer.from('{"content":"'), Buffer.alloc(60_000, 'a'), Buffer.from('"}')]
  memory.remember(KEY, { responseId: 'resp_1', items: [{ json: pieces }] })
  expect(recall(memory, 'key_1', 'resp_1')).toEqual([{ content: 'a'.repeat(60_000) }])
  memory.remember(KEY, { responseId: 'resp_2', items: written(...Array.from({ length: 300 }, () => ({ content: 'b' }))) })
  expect(recall(memory, 'key_1', 'resp_1')).toBe('crowded')
  expect(recall(memory, 'key_1', 'resp_2')).toHaveLength(300)
})

test('letters of several bytes and exact numbers come back as they were written, also where a piece ends within a letter', () => {
  const { memory } = memoryAt()
  const json = Buffer.from('{"text":"né 😀","n":[12345678901234567890,1.0]}')
  for (let at = 1; at < json.length; at++) {
    memory.remember(KEY, { responseId: `resp_${at}`, items: [{ json: [json.subarray(0, at), json.subarray(at)] }] })
    expect(JSON.stringify(recall(memory, 'key_1', `resp_${at}`))).toBe(`[${json.toString()}]`)
  }
})

test('what is recalled is a copy: changing it changes nothing for the next one', () => {
  const { memory } = memoryAt()
  memory.remember(KEY, { responseId: 'resp_1', items: written(...ITEMS) })
  const [first] = recall(memory, 'key_1', 'resp_1') as { content: string }[]
  if (first !== undefined) first.content = 'changed'
  expect(recall(memory, 'key_1', 'resp_1')).toEqual(ITEMS)
})
