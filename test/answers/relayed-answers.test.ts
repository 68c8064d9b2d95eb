/** Protects processes.md "Shared": what relays hand over is found by each of its names until it expires, and takes no more than its bound, of which an account has an eighth. */

import { expect, test } from 'bun:test'
import { RelayedAnswers } from '../../src/answers/relayed-answers.ts'
import { sealingKeyOf } from '../../src/answers/sealing.ts'
import { pass, VirtualTime } from '../sim/virtual-time.ts'

const KEY = sealingKeyOf('one secret')
const BYTES_MAX = 800_000
const EXPIRES_AT = 1_000

const answer = (id: string, bytes: number, accountId = 'acc_1', items: readonly string[] = []) => ({
  ...{ key: KEY, accountId, id, items, expiresAt: EXPIRES_AT, text: 'head' },
  parts: [{ pieces: [new Uint8Array(bytes / 2).fill(1), new Uint8Array(bytes / 2).fill(2)] }],
})

function begin() {
  const time = { now: 0 }
  const answers = new RelayedAnswers({ now: () => time.now, bytesMax: BYTES_MAX })
  const isKept = (...ids: readonly string[]): boolean => answers.find(KEY, ids) !== undefined
  return { answers, isKept, time }
}

test('an answer is found by its own name and those of its items, by its secret alone, and until it expires', () => {
  const { answers, isKept, time } = begin()
  answers.keep(answer('response 1', 10, 'acc_1', ['item 1', 'item 2']))
  expect(answers.find(KEY, ['item 9', 'item 2'])).toEqual({
    text: 'head',
    parts: [{ bytes: Buffer.from('\x01'.repeat(5) + '\x02'.repeat(5)) }],
  })
  expect([isKept('response 1'), isKept('item 1'), isKept('item 9')]).toEqual([true, true, false])
  expect(answers.find(sealingKeyOf('another secret'), ['response 1'])).toBeUndefined()
  time.now = EXPIRES_AT
  expect([isKept('item 1'), answers.bytes]).toEqual([false, 0])
})

test('an answer that has expired is forgotten within a minute, though nobody asks for it, and with the next answer that is kept', async () => {
  const time = new VirtualTime()
  try {
    const beganMs = time.now()
    const answers = new RelayedAnswers({ now: time.now, bytesMax: BYTES_MAX })
    const keep = (id: string, expiresAt: number): void => answers.keep({ ...answer(id, 10), expiresAt: beganMs + expiresAt })
    keep('of a day', 86_400_500)
    const one = answers.bytes
    keep('of an hour', 3_600_000)
    keep('of an hour, too', 3_600_000)
    await pass(time, 3_599_000)
    expect(answers.bytes).toBe(3 * one)
    await pass(time, 61_000)
    expect(answers.bytes).toBe(one)
    await pass(time, 86_400_500 - 3_660_000)
    keep('another', 90_000_000)
    expect(answers.bytes).toBe(one)
    await pass(time, 10_000_000)
    expect([answers.bytes, time.nextInMs]).toEqual([0, undefined])
  } finally {
    time.restore()
  }
})

test('an account that hands over more than its eighth loses its own oldest answers, and none of others', () => {
  const { answers, isKept } = begin()
  answers.keep(answer('of another', 40_000, 'acc_2'))
  for (let n = 0; n < 100; n++) answers.keep(answer(`of one ${n}`, 20_000))
  const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => isKept(`of one ${n}`))
  expect(kept).toEqual([96, 97, 98, 99])
  expect(isKept('of another')).toBe(true)
})

test('an answer larger than an eighth is not kept, and makes no room', () => {
  const { answers, isKept } = begin()
  answers.keep(answer('small', 1_000))
  answers.keep(answer('large', BYTES_MAX / 8))
  expect([isKept('small'), isKept('large')]).toEqual([true, false])
})

test('many accounts take no more than the bound together, the oldest going first, with names and parts counted', () => {
  const { answers, isKept } = begin()
  const items = Array.from({ length: 50 }, (_, n) => `item ${n}`)
  for (let n = 0; n < 100; n++) {
    answers.keep(answer(`of ${n}`, 20, `acc_${n}`, items))
    expect(answers.bytes).toBeWithin(1, BYTES_MAX + 1)
  }
  const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => isKept(`of ${n}`))
  // Each is some 10 KB, of which its names are nearly all.
  expect(kept.length).toBeWithin(60, 81)
  expect(kept[0]).toBe(100 - kept.length)
  // The item is that of the newest answer.
  expect(isKept('item 0')).toBe(true)
})

test('an item that two answers have is found while the newer one is there', () => {
  const { answers, isKept } = begin()
  answers.keep(answer('first', 40_000, 'acc_1', ['item']))
  answers.keep(answer('second', 40_000, 'acc_1', ['item']))
  answers.keep(answer('third', 40_000))
  expect([isKept('first'), isKept('second'), isKept('item')]).toEqual([false, true, true])
})
