/** Which bodies the loop reads itself: by what stands in them, counted here in what reaches the threads beside it. Rules: requests.md "Heavy bodies". */

import { afterAll, expect, test } from 'bun:test'
import { LIMITS } from '../../src/core/limits.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { BodyMemory } from '../../src/relay/body-memory.ts'
import type { HeavyBody } from '../../src/relay/body-reader.ts'
import { hashBody } from '../../src/relay/body-reader.ts'
import type { Pieces } from '../../src/relay/read-body.ts'
import { type Reading, readCall } from '../../src/relay/read-call.ts'
import type { ReaderName } from '../../src/relay/readers.ts'
import { ResponseMemory } from '../../src/relay/response-memory.ts'
import { makeBodyReader } from '../support/body-thread.ts'
import { GOLDEN_MODEL } from '../support/golden.ts'

const { bodyReader, faults } = makeBodyReader()
afterAll(() => bodyReader.close())

const memory = new ResponseMemory({ now: () => 0 })
const KEY = { id: 'key_1', accountId: 'acc_1', plan: 'all' }
const CATALOG = { models: new Map([[GOLDEN_MODEL.id, GOLDEN_MODEL]]), plans: new Map([['all', { name: 'all', models: ['*'] }]]) }

let dropped: readonly (readonly string[])[] = []

/** Reads one body and says where. */
async function read(name: ReaderName, pieces: Pieces) {
  const beside: HeavyBody[] = []
  const bodies = new BodyMemory({ poolBytes: 512 * 1024 * 1024, limits: () => LIMITS, keyBalanceOf: () => undefined, now: () => 0 })
  const reading = {
    parts: {
      world: { catalog: () => CATALOG, upstreams: { droppedPaths: () => dropped } },
      memory,
      bodyReader: {
        read: (body: HeavyBody) => {
          beside.push(body)
          return bodyReader.read(body)
        },
      },
    },
    request: new Request('http://a/', { method: 'POST' }),
    key: KEY,
    lease: bodies.lease(KEY),
  } as unknown as Reading
  const call = await readCall(name, reading, pieces)
  return { call, isBeside: beside.length > 0, bytes: bodies.bytes }
}

const times = <Value>(count: number, make: (index: number) => Value): Value[] => Array.from({ length: count }, (_, index) => make(index))
const bytesOf = (json: object): Uint8Array =>
  new Uint8Array(Buffer.from(JSON.stringify({ model: GOLDEN_MODEL.id, max_tokens: 9, ...json })))
const user = (content: string) => ({ role: 'user', content })
const turns = (count: number) =>
  times(count, (index) => [
    { role: 'assistant', tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: `c${index}`, content: 'r' },
  ]).flat()
const argued = (text: string) => [
  user('u'),
  { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }] },
  { role: 'tool', tool_call_id: 'c', content: 'r' },
]

test('what a chat or a picture usually has is read by the loop', async () => {
  for (const [name, json] of [
    ['chat', { messages: times(60, () => user('How do you do, my friend?'.repeat(20))) }],
    ['messages', { messages: [user('x'.repeat(240_000))] }],
    ['responses', { input: 'x'.repeat(240_000) }],
    ['countTokens', { messages: [user('u')], tools: times(20, (index) => ({ name: `t${index}`, input_schema: { type: 'object' } })) }],
  ] as const) {
    const { call, isBeside } = await read(name, [bytesOf(json)])
    expect([name, isBeside, call instanceof Refusal ? call.message : 'call']).toEqual([name, false, 'call'])
  }
})

test('what would take the loop longer is read beside it, however few bytes it has', async () => {
  for (const [name, json] of [
    ['chat', { messages: [user('u'), ...turns(5_500)] }],
    ['chat', { messages: [user('u'), ...turns(200)] }],
    ['chat', { messages: argued(`[${'[],'.repeat(4_000)}[]]`) }],
    ['responses', { input: 'u', tools: times(10_500, (index) => ({ type: 'function', name: `t${index}` })) }],
    ['messages', { messages: [user('u')], ...Object.fromEntries(times(2_000, (index) => [`f${index}`, 1])) }],
    ['messages', { messages: [user('"'.repeat(60_000))] }],
    ['messages', { messages: [user('x'.repeat(600_000))] }],
    ['countTokens', { messages: times(2_000, (index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' })) }],
  ] as const) {
    const { call, isBeside } = await read(name, [bytesOf(json)])
    expect([name, isBeside, call instanceof Refusal ? call.message : 'call']).toEqual([name, true, 'call'])
  }
})

test('a body that came in pieces is put together beside the loop, in order', async () => {
  const messages = [user('0123456789'.repeat(40_000))]
  const bytes = bytesOf({ messages })
  const half = bytes.byteLength >> 1
  const { call, isBeside } = await read('messages', [bytes.slice(0, half), bytes.slice(half)])
  if (call instanceof Refusal) throw call
  expect([isBeside, JSON.parse(Buffer.from(call.body).toString())]).toEqual([
    true,
    { model: GOLDEN_MODEL.upstreamModel, max_tokens: 9, messages },
  ])
})

test('of a body that is read beside the loop it is noted what its upstreams cut out; a body written anew for that counts in its account’s memory', async () => {
  dropped = [['output_format', 'tools[].defer_loading'], ['stream']]
  try {
    const bodyWith = (tools: number): Uint8Array => {
      const tool = (index: number) => ({ name: `t${index}`, input_schema: { type: 'object' }, defer_loading: true })
      return bytesOf({ messages: [user('x'.repeat(600_000))], tools: times(tools, tool) })
    }
    const few = await read('messages', [bodyWith(3)])
    const many = await read('messages', [bodyWith(100)])
    const countOf = ({ call }: typeof few) => (call instanceof Refusal ? undefined : call.routing.notes?.cuts)
    expect(countOf(few)).toMatchObject([{ paths: 'output_format tools[].defer_loading' }, { paths: 'stream' }])
    expect(countOf(few)?.map(({ spans }) => spans.length)).toEqual([3, 0])
    expect(few.bytes).toBe(0)
    const [made] = countOf(many) ?? []
    expect(made?.made?.body.length).toBeGreaterThan(600_000)
    expect(String(made?.made?.body)).not.toContain('defer_loading')
    expect(many.bytes).toBeGreaterThan(1_200_000)
    const light = await read('messages', [bytesOf({ messages: [user('u')] })])
    expect([light.isBeside, countOf(light)]).toEqual([false, undefined])
  } finally {
    dropped = []
  }
})

test('of what a body refers to the loop reads no more than of a body that it does not look at', async () => {
  const remember = (id: string, length: number): void =>
    memory.remember(KEY, {
      responseId: id,
      items: [{ json: Buffer.from(JSON.stringify({ type: 'message', role: 'user', content: 'x'.repeat(length) })) }],
    })
  remember('resp_small', 7_000)
  remember('resp_large', 9_000)
  for (const [id, isLarge] of [
    ['resp_small', false],
    ['resp_large', true],
  ] as const) {
    const { call, isBeside } = await read('responses', [bytesOf({ input: 'u', previous_response_id: id })])
    expect([id, isBeside, call instanceof Refusal]).toEqual([id, isLarge, false])
  }
})

test('the hash of a body is the same whether the loop or a thread makes it, and the body is there after it', async () => {
  for (const pieces of [
    [],
    [new Uint8Array(Buffer.from('abc'))],
    [new Uint8Array(300_000).fill(1)],
    times(9, () => new Uint8Array(50_000).fill(2)),
  ]) {
    const whole = Buffer.concat(pieces)
    const hashed = await hashBody(bodyReader, new Request('http://a/'), KEY, pieces)
    if (hashed instanceof Refusal) throw hashed
    expect(Buffer.from(hashed.hash).toString('hex')).toBe(new Bun.CryptoHasher('sha256').update(whole).digest('hex'))
    expect(Buffer.compare(Buffer.concat(hashed.pieces), whole)).toBe(0)
  }
  expect(faults).toEqual([])
})
