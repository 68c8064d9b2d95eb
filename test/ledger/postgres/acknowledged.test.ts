/** Protects nodes.md "After a failover": what is kept of the acknowledged is that and no more: what was done, for a minute, within its room. */

import { expect, test } from 'bun:test'
import { Acknowledged } from '../../../src/ledger/postgres/acknowledged.ts'
import type { Answer, Task } from '../../../src/ledger/task.ts'
import { settlement } from '../../support/ledger.ts'

const settle = (requestId: string): Extract<Task, { kind: 'settle' }> => ({
  kind: 'settle',
  debit: {
    ...settlement(requestId, { input: 10 }),
    keyNumber: 7,
    accountNumber: 3,
    price: 0,
    format: 'messages',
    isStream: false,
    holdPicos: settlement('x').costPicos,
    startedAt: 1,
    hasCheckpoint: false,
  },
})
const disable = (now: number): Task => ({
  kind: 'operate',
  operation: { kind: 'setKeyActive', keyId: 'key_1', isActive: false, now },
  act: { actor: 'os:a', address: '', reason: '' },
})

test('what was not done, was spilled for later or changed nothing is not kept; all else is, in its order', () => {
  const kept = new Acknowledged(() => 0)
  const done: Answer = { result: 'done', isNew: true }
  kept.note(
    [settle('a'), settle('b'), settle('held'), disable(1), disable(2), { kind: 'dropCheckpoint', requestId: 'u' }, disable(3)],
    ['settled', 'unavailable', undefined, done, { result: 'done', isNew: false }, 'absent', { result: 'unavailable' }],
  )
  kept.note([settle('c'), { kind: 'findKey', secretHash: new Uint8Array() }], ['already', undefined])
  expect(kept.debits().map(({ requestId }) => requestId)).toEqual(['a', 'c'])
  expect(kept.debits()[0]).toEqual(settle('a').debit)
  expect(kept.acts().map(({ operation }) => operation.now)).toEqual([1])
  expect(kept.releases()).toEqual([{ kind: 'dropCheckpoint', requestId: 'u' }])
  expect(kept.newKeys).toEqual([7])
  kept.learnKeys([{ number: 7, id: 'key_7' }])
  expect([kept.keyId(7), kept.keyId(8), kept.newKeys]).toEqual(['key_7', undefined, []])
})

test('it is a minute, and where there is no room for one, less, which is known', () => {
  let nowMs = 0
  const kept = new Acknowledged(() => nowMs)
  const note = (atMs: number, ids: readonly string[]): void => {
    nowMs = atMs
    kept.note(
      ids.map(settle),
      ids.map(() => 'settled'),
    )
  }
  note(0, ['old'])
  note(30_000, ['young'])
  note(60_001, ['new'])
  expect(kept.debits().map(({ requestId }) => requestId)).toEqual(['young', 'new'])
  expect(kept.isShort).toBeFalse()
  for (let group = 0; group < 200; group++)
    note(
      60_002,
      Array.from({ length: 1_024 }, (_, place) => `g${group}_${place}`),
    )
  const { length } = kept.debits()
  expect(length).toBeGreaterThan(100_000)
  expect(length).toBeLessThan(200_000)
  expect(kept.debits().at(-1)?.requestId).toBe('g199_1023')
  expect(kept.isShort).toBeTrue()
  note(121_000, ['later'])
  expect([kept.debits().length, kept.isShort]).toEqual([1, false])
})

test('the keys of debits that are kept stay known, however many keys were charged since the start', () => {
  const kept = new Acknowledged(() => 0)
  const learn = (from: number, count: number): void =>
    kept.learnKeys(Array.from({ length: count }, (_, place) => ({ number: from + place, id: `key_${from + place}` })))
  learn(7, 1)
  for (let told = 1_000; told < 401_000; told += 50_000) {
    kept.note([settle(`r${told}`)], ['settled'])
    learn(told, 50_000)
  }
  expect([kept.keyId(7), kept.newKeys]).toEqual(['key_7', []])
  expect(kept.keyId(1_000)).toBeUndefined()
})
