/** What is kept of answers for their repetitions is bounded, of an account and of all, and never another's. Rules: requests.md "Repeated requests". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type IdempotencyKey, IdempotentResponses } from '../../src/relay/idempotent-responses.ts'

const keyOf = (header: string, accountId = 'acc_1', keyId = `key_${accountId}`): IdempotencyKey => ({
  keyId,
  accountId,
  headerHash: header,
})
const head = (requestId: string) => ({ status: 200, contentType: 'text/event-stream', requestId })
const KIB = 1_024
const BODY = { bodyHash: 'body', requestId: 'req_1' }

function memory(more: { bytesMax?: number; accountBytesMax?: number } = {}) {
  const clock = { now: 0 }
  return { clock, memory: new IdempotentResponses({ now: () => clock.now, ...more }) }
}

function keep(into: IdempotentResponses, key: IdempotencyKey, length: number): void {
  const answer = into.begin(key, BODY)
  answer.add(new Uint8Array(length).fill(7))
  answer.finish(head('req_1'))
}

test('an answer is running, then finished with its very bytes, then gone after a day', () => {
  const { memory: into, clock } = memory()
  const answer = into.begin(keyOf('a'), BODY)
  expect(into.find(keyOf('a'))).toBe(answer)
  const piece = Buffer.from('one ')
  answer.add(piece)
  piece.fill(0)
  answer.add(Buffer.from('two'))
  answer.finish(head('req_7'))
  const found = into.find(keyOf('a'))
  expect(found).toMatchObject({ kind: 'finished', bodyHash: 'body', head: head('req_7') })
  expect(found?.kind === 'finished' && Buffer.from(found.bytes).toString()).toBe('one two')
  clock.now += 24 * 3_600_000
  expect(into.find(keyOf('a'))).toBeUndefined()
  expect(into.bytes).toBe(0)
})

test('an answer in one piece is in memory once, however long it is kept, and keeps nothing that stands beside it', async () => {
  const alone = new Uint8Array(Buffer.from('whole'))
  for (const whole of [alone, new Uint8Array(Buffer.from('a whole')).subarray(2)]) {
    const { memory: into } = memory()
    const answer = into.begin(keyOf('a'), BODY)
    answer.finish(head('req_1'), whole)
    const [found, shown] = [into.find(keyOf('a')), await answer.shown()]
    if (found?.kind !== 'finished' || typeof shown === 'string' || !('bytes' in shown)) throw new Error('it is not kept')
    expect(Buffer.from(found.bytes).toString()).toBe('whole')
    expect(shown.bytes).toBe(found.bytes)
    expect(found.bytes.buffer.byteLength).toBe(5)
    expect(found.bytes === whole).toBe(whole === alone)
  }
})

test('what is dropped is as if it had never been, and no key finds the answer of another', () => {
  const { memory: into } = memory()
  into.begin(keyOf('a'), BODY).drop()
  expect(into.find(keyOf('a'))).toBeUndefined()
  keep(into, keyOf('a'), 10)
  expect(into.find(keyOf('a', 'acc_1', 'key_other'))).toBeUndefined()
  expect(into.find(keyOf('b'))).toBeUndefined()
})

test("an account's own oldest answers make room, not another's", () => {
  const { memory: into } = memory({ accountBytesMax: 20 * KIB })
  keep(into, keyOf('other', 'acc_2'), 10 * KIB)
  for (const header of ['a', 'b', 'c']) keep(into, keyOf(header), 8 * KIB)
  expect(into.find(keyOf('a'))).toBeUndefined()
  expect(into.find(keyOf('c'))?.kind).toBe('finished')
  expect(into.find(keyOf('other', 'acc_2'))?.kind).toBe('finished')
})

test('an answer that is too large for its account takes no room of another', () => {
  const { memory: into } = memory({ accountBytesMax: 20 * KIB, bytesMax: 40 * KIB })
  keep(into, keyOf('first', 'acc_2'), 15 * KIB)
  keep(into, keyOf('second', 'acc_3'), 15 * KIB)
  keep(into, keyOf('large'), 30 * KIB)
  expect(into.find(keyOf('large'))).toBeUndefined()
  expect([into.find(keyOf('first', 'acc_2'))?.kind, into.find(keyOf('second', 'acc_3'))?.kind]).toEqual(['finished', 'finished'])
})

test('an answer that just fits is kept, however its pieces come', () => {
  const { memory: into } = memory({ accountBytesMax: 100 * KIB })
  const answer = into.begin(keyOf('a'), BODY)
  for (let piece = 0; piece < 99; piece++) answer.add(new Uint8Array(KIB))
  answer.finish(head('req_1'))
  expect(into.find(keyOf('a'))).toMatchObject({ kind: 'finished' })
})

test('an answer that is too large is known as running until it ends, and then is not kept', () => {
  const { memory: into } = memory({ accountBytesMax: 20 * KIB })
  keep(into, keyOf('small'), 4 * KIB)
  const large = into.begin(keyOf('large'), BODY)
  for (let piece = 0; piece < 30; piece++) large.add(new Uint8Array(KIB))
  expect(into.find(keyOf('large'))?.kind).toBe('running')
  large.finish(head('req_2'))
  expect(into.find(keyOf('large'))).toBeUndefined()
})

test('whatever is asked of it, it never takes more than its bounds, and gives everything back', () => {
  const step = fc.record({
    account: fc.nat(3),
    header: fc.nat(5),
    what: fc.constantFrom('begin', 'add', 'finish', 'drop', 'later'),
    size: fc.nat(9_000),
  })
  const bounds = { bytesMax: 60_000, accountBytesMax: 24_000 }
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const { memory: into, clock } = memory(bounds)
      const running = new Map<string, ReturnType<IdempotentResponses['begin']>>()
      const expected = new Map<string, Buffer>()
      for (const { account, header, what, size } of steps) {
        const key = keyOf(`h${header}`, `acc_${account}`)
        const id = `${account}:${header}`
        const answer = running.get(id)
        if (what === 'begin' && into.find(key) === undefined) {
          running.set(id, into.begin(key, BODY))
          expected.set(id, Buffer.alloc(0))
        } else if (what === 'add') {
          const bytes = Buffer.alloc(size, size)
          answer?.add(bytes)
          if (answer !== undefined) expected.set(id, Buffer.concat([expected.get(id) ?? Buffer.alloc(0), bytes]))
        } else if (what === 'finish' || what === 'drop') {
          if (what === 'finish') answer?.finish(head(id))
          else answer?.drop()
          running.delete(id)
        } else if (what === 'later') clock.now += size * 5_000
        const found = into.find(key)
        expect(found?.kind === 'running').toBe(running.has(id))
        if (found?.kind === 'finished') expect(Buffer.compare(Buffer.from(found.bytes), expected.get(id) ?? Buffer.alloc(0))).toBe(0)
        // An entry's own place is not refused, however many run: their number is bounded elsewhere.
        expect(into.bytes).toBeLessThanOrEqual(bounds.bytesMax + running.size * 500)
      }
      for (const answer of running.values()) answer.drop()
      clock.now += 48 * 3_600_000
      for (let account = 0; account < 4; account++)
        for (let header = 0; header < 6; header++) into.find(keyOf(`h${header}`, `acc_${account}`))
      expect(into.bytes).toBe(0)
    }),
  )
})
