/** Chats are answered in turns and each in order, an answer that fails is made again, and none for ever. Rules: pages.md "Telegram". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { PeopleAway } from '../../src/people/people-sql.ts'
import type { Held } from '../../src/telegram/update-store.ts'
import { type Answered, UpdateWorker } from '../../src/telegram/update-worker.ts'
import { until } from '../support/until.ts'

const DONE: Answered = { done: true, question: null }
let worker: UpdateWorker
let answered: string[]
let finished: number[]
let ends: string[]
let alarms: string[]
let now: number
let isMine: boolean
let answer: (held: Held) => Promise<Answered>

beforeEach(() => {
  answered = []
  finished = []
  ends = []
  alarms = []
  now = 1_000
  isMine = true
  answer = () => Promise.resolve(DONE)
  worker = new UpdateWorker({
    answer: (held) => {
      answered.push(`${held.incoming.chat} ${held.number}`)
      return answer(held)
    },
    finish: ({ number }) => {
      finished.push(number)
      return Promise.resolve()
    },
    isMine: () => isMine,
    onEnd: (result) => void ends.push(result),
    now: () => now,
    log: { alarm: (what) => void alarms.push(what) },
  })
})
afterEach(() => worker.close())

const held = (chat: number, number: number): Held => ({
  number,
  incoming: { chat, name: '', kind: 'text', text: '' },
  salt: new Uint8Array(32),
  takenAt: 1_000,
})

test('a chat’s updates are answered one after the other, and another chat waits for one of them at most', async () => {
  const gates = new Map<string, () => void>()
  answer = (one) => {
    const { promise, resolve } = Promise.withResolvers<Answered>()
    gates.set(`${one.incoming.chat} ${one.number}`, () => resolve(DONE))
    return promise
  }
  const flood = Array.from({ length: 50 }, (_, n) => held(1, n))
  worker.add([...flood, held(2, 100), held(3, 101)])
  expect(answered).toEqual(['1 0', '2 100', '3 101'])
  gates.get('1 0')?.()
  await until(() => answered.length === 4)
  expect(answered.at(-1)).toBe('1 1')
  // The same once more is known, the one that is done, too.
  worker.add(flood)
  expect(worker.waiting).toBe(51)
})

test('eight chats are answered at once, and the ninth when one of them is', async () => {
  const gates: (() => void)[] = []
  answer = () => {
    const { promise, resolve } = Promise.withResolvers<Answered>()
    gates.push(() => resolve(DONE))
    return promise
  }
  worker.add(Array.from({ length: 12 }, (_, chat) => held(chat + 1, chat)))
  expect(answered).toHaveLength(8)
  gates[0]?.()
  await until(() => answered.length === 9)
})

test('an answer that could not be sent is made again, and given up after ten minutes', async () => {
  answer = () => Promise.resolve({ done: false, afterMs: 1 })
  worker.add([held(1, 1)])
  await until(() => answered.length > 3)
  expect(finished).toEqual([])
  now += 601_000
  await until(() => finished.length === 1)
  expect(ends).toEqual(['given up'])
  expect(worker.waiting).toBe(0)
})

test('a store that is away is no bug: the answer is made again; a bug is told, and is no reason to try for ever', async () => {
  let tries = 0
  answer = () => (++tries === 1 ? Promise.reject(new PeopleAway('away')) : Promise.resolve(DONE))
  worker.add([held(1, 1)])
  await until(() => finished.length === 1)
  expect([tries, alarms]).toEqual([2, []])
  answer = () => Promise.reject(new Error('a bug with a secret in it'))
  worker.add([held(1, 2), held(1, 3)])
  await until(() => finished.length === 3)
  expect(ends).toEqual(['answered', 'given up', 'given up'])
  expect(new Set(alarms)).toEqual(new Set(['an answer of the bot failed by a bug']))
}, 60_000)

test('a process that ends waits for the answers under way and begins no others, so that the next one repeats none', async () => {
  const gate = Promise.withResolvers<Answered>()
  answer = () => gate.promise
  worker.add([held(1, 1), held(1, 2)])
  setTimeout(() => gate.resolve(DONE), 20)
  await worker.close()
  expect([answered, finished]).toEqual([['1 1'], [1]])
})

test('a process that lost the claim answers nothing, and leaves the updates in the store', async () => {
  isMine = false
  worker.add([held(1, 1), held(2, 2)])
  await until(() => worker.waiting === 0)
  expect([answered, finished]).toEqual([[], []])
  isMine = true
  worker.add([held(1, 1), held(2, 2)])
  await until(() => finished.length === 2)
})
