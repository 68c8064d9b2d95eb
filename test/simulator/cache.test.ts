/** The simulator’s prompt cache counts writes and reads as a native upstream does. Rules: native.md "Usage"; faults.md "Simulator". */

import { expect, test } from 'bun:test'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { ask, askStream, assistant, type Fields, jumpingClock, messageOf, quick, requestOf, user } from './ask.ts'

const BOOK = 'A long book. '.repeat(100)
const BOOK_TOKENS = Math.ceil(BOOK.length / 4)
const marked = (text: string, ttl?: string): Fields => ({ type: 'text', text, cache_control: { type: 'ephemeral', ...(ttl && { ttl }) } })
const figures = ({ usage }: { usage: Record<string, number> }): unknown[] => [
  usage['cache_creation_input_tokens'],
  usage['cache_read_input_tokens'],
  usage['input_tokens'],
]

test('what stands before a marker is written once and then read, streaming or not', async () => {
  const simulator = quick()
  const fields = { system: [marked(BOOK)] }
  expect(figures(await ask(simulator, 'question', fields))).toEqual([BOOK_TOKENS, 0, 5])
  expect(figures(await ask(simulator, 'question', fields))).toEqual([0, BOOK_TOKENS, 5])
  expect(figures(messageOf(await askStream(simulator, 'another one', fields)))).toEqual([0, BOOK_TOKENS, 6])
  expect(figures(await ask(simulator, 'question', { ...fields, model: 'other' }))).toEqual([BOOK_TOKENS, 0, 5])
  expect(figures(await ask(quick(), 'question', { system: BOOK }))).toEqual([0, 0, BOOK_TOKENS + 5])
})

test('a conversation that grows reads what it wrote before and writes only what is new', async () => {
  const simulator = quick()
  await ask(simulator, '', { messages: [user([marked(BOOK)])] })
  const second = { messages: [user(BOOK), assistant('Indeed.'), user([marked(BOOK)])] }
  expect(figures(await ask(simulator, '', second))).toEqual([BOOK_TOKENS + 2, BOOK_TOKENS, 3])
  expect(figures(await ask(simulator, '', second))).toEqual([0, 2 * BOOK_TOKENS + 2, 3])
})

test('written tokens are split by lifetime, and lifetimes end', async () => {
  const clock = jumpingClock()
  const simulator = makeSimulator({ tokensPerSecond: 0, clock })
  const fields = { tools: [], system: [marked(BOOK, '1h'), marked('short one')] }
  expect((await ask(simulator, 'question', fields)).usage).toMatchObject({
    cache_creation_input_tokens: BOOK_TOKENS + 3,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: BOOK_TOKENS },
  })
  clock.jump(6 * 60_000)
  expect(figures(await ask(simulator, 'question', fields))).toEqual([3, BOOK_TOKENS, 5])
  clock.jump(61 * 60_000)
  expect(figures(await ask(simulator, 'question', fields))).toEqual([BOOK_TOKENS + 3, 0, 5])
})

test('markers on tools, inside tool results and on the request itself count', async () => {
  const tool = { name: 'T', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }
  const result = { type: 'tool_result', tool_use_id: 'a', content: [marked(BOOK)] }
  const messages = [user('go'), assistant([{ type: 'tool_use', id: 'a', name: 'T', input: {} }]), user([result])]
  for (const fields of [
    { tools: [tool] },
    { tools: [{ ...tool, cache_control: undefined }], messages },
    { cache_control: { type: 'ephemeral' } },
  ]) {
    const simulator = quick()
    const [written] = figures(await ask(simulator, 'Hi', fields))
    expect(written).toBeGreaterThan(0)
    expect(figures(await ask(simulator, 'Hi', fields)).slice(0, 2)).toEqual([0, written])
  }
})

test('counting tokens agrees with the sum of the input counters, and more than four markers are refused', async () => {
  const simulator = quick()
  const fields = { model: 'm', system: [marked(BOOK)], messages: [user('question')] }
  const counted = await simulator(requestOf(fields, '/v1/messages/count_tokens'))
  expect(await counted.json()).toEqual({ input_tokens: BOOK_TOKENS + 5 })
  const five = await simulator(requestOf({ ...fields, max_tokens: 9, system: Array.from({ length: 5 }, () => marked('x')) }))
  expect(five.status).toBe(400)
})
