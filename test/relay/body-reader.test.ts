/** Heavy bodies on their threads: the same calls and refusals as without it, in turn, and what a death, a leaver or an end of it does. Rules: requests.md "Heavy bodies". */

import { afterAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { parseBody } from '../../src/core/body.ts'
import { parseExact } from '../../src/core/bytes/exact-json.ts'
import type { ReadContext } from '../../src/core/format.ts'
import { type Picos, picos } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { HeavyBody, HeavyRead } from '../../src/relay/body-reader.ts'
import { sha256Hex } from '../../src/relay/read-context.ts'
import { READERS, type ReaderName } from '../../src/relay/readers.ts'
import { makeBodyReader, startBodyThread } from '../support/body-thread.ts'
import { GOLDEN_MODEL } from '../support/golden.ts'

const { bodyReader, faults } = makeBodyReader()
afterAll(() => bodyReader.close())

const ITEM = '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"12345678901234567890"}],"n":1.0}'
const find = (modelId: string) => (modelId === 'nobody' ? undefined : GOLDEN_MODEL)
const recall = (id: string) => (id === 'resp_1' || id === 'msg_1' ? [Buffer.from(ITEM)] : ('unknown' as const))
const HEADERS = new Headers({ 'anthropic-version': '2023-06-01', 'anthropic-beta': 'one,two' })

const large = (reader: ReaderName, bytes: Uint8Array, more: Partial<HeavyBody> = {}): HeavyBody => ({
  reader,
  pieces: [bytes],
  accountId: 'acc_1',
  signal: new AbortController().signal,
  headers: HEADERS,
  find,
  droppedPaths: () => [],
  recall,
  planCapPicos: undefined,
  tagsUserIds: undefined,
  ...more,
})

const parsed = (id: string) => {
  const items = recall(id)
  return typeof items === 'string' ? items : items.map((json) => parseExact(json.toString()))
}

/** Without a thread. */
function readHere(reader: ReaderName, bytes: Uint8Array, headers: ReadContext['headers'] = HEADERS, planCapPicos?: Picos): HeavyRead {
  const body = parseBody(bytes)
  if (body instanceof Refusal) return body
  return READERS[reader](body, { headers, find, recall: parsed, sha256Hex, planCapPicos })
}

/** Bytes of any class are the same bytes. */
function plain(value: unknown): unknown {
  if (value instanceof Refusal || typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (value instanceof Map || value instanceof Set) return [...value].map(plain)
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** The thread also notes what the loop is not to look for. */
function withoutNotes(read: HeavyRead): HeavyRead {
  if (read === 'left' || read instanceof Refusal) return read
  const { notes: _, ...routing } = read.routing
  return { ...read, routing }
}

async function expectSame(reader: ReaderName, text: string, headers = HEADERS, planCapPicos?: Picos): Promise<HeavyRead> {
  const here = readHere(reader, Buffer.from(text), headers, planCapPicos)
  const there = await bodyReader.read(large(reader, Buffer.from(text), { headers, planCapPicos }))
  expect(plain(withoutNotes(there))).toEqual(plain(here))
  return there
}

const NAMES = Object.keys(READERS) as ReaderName[]
const FOLDER = join(import.meta.dir, '../requests')
const GOLDEN = readdirSync(FOLDER).flatMap((name) =>
  readdirSync(join(FOLDER, name)).map((file) => ({ name: `${name}/${file}`, text: readFileSync(join(FOLDER, name, file), 'utf8') })),
)

test('every golden request is read there as here, by each reader: the call, its model itself, or the refusal', async () => {
  let calls = 0
  for (const { name, text } of GOLDEN) {
    for (const reader of NAMES) {
      const read = await expectSame(reader, text)
      if (read instanceof Refusal || read === 'left') continue
      calls++
      expect(read.model, name).toBe(GOLDEN_MODEL)
    }
  }
  expect(calls).toBeGreaterThan(GOLDEN.length)
})

test('what is no JSON, no model, a wrong header or a wrong field is refused in the same words', async () => {
  const fine = { model: 'stella-2', max_tokens: 9, messages: [{ role: 'user', content: 'é' }], input: 'x' }
  for (const reader of NAMES) {
    for (const text of [
      '',
      '{',
      '[]',
      '\ufeff{}',
      JSON.stringify({ ...fine, model: 'nobody' }),
      JSON.stringify({ ...fine, messages: 3, input: 3 }),
    ])
      expect(await expectSame(reader, text)).toBeInstanceOf(Refusal)
    expect(await expectSame(reader, JSON.stringify(fine))).not.toBeInstanceOf(Refusal)
  }
  expect(await expectSame('messages', JSON.stringify(fine), new Headers({ 'vendor-version': 'soon' }))).toBeInstanceOf(Refusal)
  expect(await expectSame('messages', JSON.stringify({ ...fine, thread: { id: 'x' } }))).toBeInstanceOf(Refusal)
})

test('a cap on the cost is applied there as here, whether the request or its plan has it, and counting knows none', async () => {
  const fine = JSON.stringify({
    model: 'stella-2',
    max_tokens: 900,
    max_output_tokens: 900,
    messages: [{ role: 'user', content: 'é' }],
    input: 'x',
  })
  const withCap = (cap: string) => new Headers({ 'x-max-cost-usd': cap })
  for (const reader of NAMES) {
    const counts = reader === 'countTokens'
    for (const read of [await expectSame(reader, fine, withCap('0.009')), await expectSame(reader, fine, HEADERS, picos(9_000_000_000n))])
      expect([reader, Object(read).maxTokensApplied !== undefined]).toEqual([reader, !counts])
    for (const cap of ['0.00001', '', 'much'])
      expect([reader, (await expectSame(reader, fine, withCap(cap))) instanceof Refusal]).toEqual([reader, !counts])
  }
})

test('remembered items are asked for, and keep their numbers letter by letter', async () => {
  const item = { type: 'item_reference', id: 'msg_1' }
  const answers = [
    await expectSame(
      'responses',
      JSON.stringify({ model: 'm', previous_response_id: 'resp_1', input: [item, { role: 'user', content: 'u' }] }),
    ),
    await expectSame('responses', JSON.stringify({ model: 'm', previous_response_id: 'resp_2', input: 'u' })),
  ]
  expect(Bun.inspect(answers[0], { depth: 20 })).toContain('remembered')
  expect(answers[1]).toBeInstanceOf(Refusal)
})

test('any body is read there as here', async () => {
  const json = fc.jsonValue({ maxDepth: 4 })
  const message = fc.record({ role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'x'), content: fc.oneof(fc.string(), json) })
  const body = fc.record(
    {
      model: fc.constantFrom('stella-2', 'nobody'),
      max_tokens: fc.oneof(fc.nat(99), json),
      messages: fc.oneof(fc.array(message), json),
      input: fc.oneof(fc.string(), fc.array(message), json),
      tools: json,
      stream: fc.oneof(fc.boolean(), json),
      metadata: json,
    },
    { requiredKeys: ['model'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...NAMES), body, async (reader, value) => void (await expectSame(reader, JSON.stringify(value)))),
  )
})

test('the bytes are handed over and nothing else is lost with them', async () => {
  const shared = Buffer.from(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"u"}]}tail`)
  const bytes = shared.subarray(0, shared.byteLength - 4)
  const read = await bodyReader.read(large('chat', bytes))
  expect(read).not.toBeInstanceOf(Refusal)
  expect(shared.toString()).toEndWith('tail')
  const own = new Uint8Array(bytes)
  await bodyReader.read(large('chat', own))
  expect(own.byteLength).toBe(0)
})

const SLOW = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] }))
const SHORT = Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(900_000) }] }))
const slow = (accountId: string, signal = new AbortController().signal): HeavyBody =>
  large('chat', new Uint8Array(SLOW), { accountId, signal })

test('accounts have turns: one that sends many delays another by one', async () => {
  const ended: string[] = []
  const read = async (accountId: string): Promise<void> => {
    await bodyReader.read(slow(accountId))
    ended.push(accountId)
  }
  await Promise.all(['a', 'a', 'a', 'b', 'c'].map(read))
  expect(ended).toEqual(['a', 'b', 'a', 'c', 'a'])
})

test('a body of less than a megabyte never waits for a larger one', async () => {
  let starts = 0
  const startThread = (): Worker => (++starts === 1 ? new Worker('data:text/javascript,onmessage=()=>{for(;;);}') : startBodyThread())
  const { bodyReader: busy } = makeBodyReader({ startThread })
  const stuck = busy.read(slow('a'))
  const pieces = [new Uint8Array(SHORT)]
  expect(await busy.read({ ...slow('a'), pieces })).toMatchObject({ model: GOLDEN_MODEL })
  busy.close()
  expect(await stuck).toEqual(new Refusal('draining'))
})

test('a client that leaves while its body waits frees its place; while it is read, the answer comes all the same', async () => {
  const [running, waiting, gone] = [new AbortController(), new AbortController(), AbortSignal.abort()]
  const first = bodyReader.read(slow('a', running.signal))
  const second = bodyReader.read(slow('b', waiting.signal))
  const third = bodyReader.read(slow('c'))
  running.abort()
  waiting.abort()
  expect(await second).toBe('left')
  expect(await bodyReader.read(slow('d', gone))).toBe('left')
  for (const read of [await first, await third]) expect(read).toMatchObject({ model: GOLDEN_MODEL })
})

test('a thread that dies is an alarm and 500 for its body; the next one gets another thread', async () => {
  let starts = 0
  const startThread = (): Worker => (++starts === 1 ? new Worker('data:text/javascript,process.exit(1)') : startBodyThread())
  const { bodyReader: mortal, faults: told } = makeBodyReader({ startThread })
  const [first, second] = await Promise.all([mortal.read(slow('a')), mortal.read(slow('b'))])
  expect(first).toEqual(new Refusal('internal'))
  expect(second).toMatchObject({ model: GOLDEN_MODEL })
  expect([told, starts]).toEqual([['a thread for large bodies died'], 2])
  mortal.close()
})

test('a body that takes too long is 500 and an alarm, and does not keep the others', async () => {
  // What it takes to begin the next thread is not in the time that the next body has.
  const next = startBodyThread()
  await new Promise((resolve) => next.addEventListener('open', resolve))
  const threads = [new Worker('data:text/javascript,onmessage=()=>{for(;;);}'), next]
  const startThread = (): Worker => threads.shift() ?? startBodyThread()
  const { bodyReader: stuck, faults: told } = makeBodyReader({ startThread, taskMs: 1_000 })
  const [first, second] = await Promise.all([stuck.read(slow('a')), stuck.read(slow('b'))])
  expect(first).toEqual(new Refusal('internal'))
  expect(second).toMatchObject({ model: GOLDEN_MODEL })
  expect(told).toEqual(['a body took too long to read'])
  stuck.close()
})

test('a bug in a reader is thrown to whoever asked, and the thread goes on', async () => {
  const bug = bodyReader.read(large('nothing' as ReaderName, new Uint8Array(Buffer.from('{}'))))
  expect(bug).rejects.toThrow(TypeError)
  await bug.catch(() => undefined)
  expect(await bodyReader.read(slow('a'))).toMatchObject({ model: GOLDEN_MODEL })
})

test('the thread starts with the first body, goes when there is none for a while, and comes back', async () => {
  const workers: Promise<unknown>[] = []
  const startThread = (): Worker => {
    const worker = startBodyThread()
    workers.push(new Promise((resolve) => worker.addEventListener('close', resolve)))
    return worker
  }
  const { bodyReader: lazy, faults: told } = makeBodyReader({ startThread, idleMs: 50 })
  expect(workers).toHaveLength(0)
  for (const count of [1, 2]) {
    await lazy.read(slow('a'))
    await lazy.read(slow('a'))
    expect(workers).toHaveLength(count)
    await workers.at(-1)
  }
  expect(told).toEqual([])
})

test('closed, it refuses what is read and what waits as a gateway that drains', async () => {
  const { bodyReader: closing, faults: told } = makeBodyReader()
  const reads = ['a', 'b'].map((accountId) => closing.read(slow(accountId)))
  closing.close()
  expect(await Promise.all(reads)).toEqual([new Refusal('draining'), new Refusal('draining')])
  expect(told).toEqual([])
})

test('no fault was told of in all this', () => {
  expect(faults).toEqual([])
})
