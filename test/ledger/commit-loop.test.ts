/** Protects ledger.md "Spill", "Leases" in the commit loop, over a store that does what the test says: what stands before what. */

import { expect, test } from 'bun:test'
import type { Task } from '../../src/ledger/task.ts'
import { ask, GRANTED, makeLoop } from '../support/commit-loop.ts'
import { until } from '../support/until.ts'

test('while what the spill keeps cannot be replayed no lease is moved, though the storage would: it is less by what is kept', async () => {
  const { loop, settle, state, told, answers } = makeLoop()
  state.canApply = false
  loop.add([{ number: 1, task: settle('req_1') }])
  await until(() => answers().some(({ number, answer }) => number === 1 && answer === 'spilled'), 'it is spilled')
  state.canApply = true
  state.canReplay = false
  loop.add([{ number: 2, task: { kind: 'ask', ask } }])
  await until(() => answers().some(({ number }) => number === 2), 'it is answered')
  expect(answers().at(-1)).toEqual({ number: 2, answer: 'unavailable' })
  expect(state.done).toEqual([])
  state.canReplay = true
  loop.add([{ number: 3, task: { kind: 'ask', ask } }])
  await until(() => answers().some(({ number }) => number === 3), 'it is granted')
  expect(answers().at(-1)).toEqual({ number: 3, answer: GRANTED })
  expect(state.done).toEqual(['replay', 'ask'])
  expect(told.flatMap(({ replayed = [] }) => replayed)).toEqual(['req_1'])
  loop.close()
})

test('a lease is moved behind all settles that were sent before it, however many groups they are', async () => {
  const { loop, settle, state, answers } = makeLoop()
  const settles = Array.from({ length: 2_500 }, (_, n) => ({ number: n + 1, task: settle(`req_${n}`) }))
  loop.add(settles)
  loop.add([{ number: 9_999, task: { kind: 'ask', ask } }])
  await until(() => answers().some(({ number }) => number === 9_999), 'it is granted')
  expect(state.done.indexOf('ask')).toBe(2_500)
  loop.close()
})

test("a spill that somebody's lock keeps out of the ledger, however long it takes to look at, delays few groups of the others", async () => {
  const { loop, settle, state, answers } = makeLoop()
  state.canApply = false
  loop.add([{ number: 1, task: settle('req_1') }])
  await until(() => answers().some(({ number, answer }) => number === 1 && answer === 'spilled'), 'it is spilled')
  state.canApply = true
  state.isLocked = true
  for (let number = 2; number < 22; number++) {
    loop.add([{ number, task: { kind: 'ask', ask } }])
    await until(() => answers().some(({ number: other }) => other === number), 'it is answered')
    expect(state.apart).toEqual([1])
  }
  expect(state.heldReplays).toBeLessThan(5)
  state.isLocked = false
  await until(() => state.done.includes('replay'), 'it is replayed')
  loop.close()
})

test('what comes again after a failure, and what waited for a lock, stands before what is newer', async () => {
  for (const way of ['canApply', 'areRowsLocked'] as const) {
    const { loop, settle, state, settled } = makeLoop(60_000)
    // More than a group, so that some wait while the first ones fail.
    const numbers = Array.from({ length: 1_500 }, (_, index) => index + 1)
    state[way] = !state[way]
    loop.add(numbers.slice(0, -1).map((number) => ({ number, task: settle(`req_${number}`) })))
    await until(() => state.applies > 0, 'it was tried')
    loop.add([{ number: 1_500, task: settle('req_1500') }])
    state[way] = !state[way]
    await until(() => settled().length === 1_500, 'all are settled')
    expect([way, settled()]).toEqual([way, numbers])
    loop.close()
  }
})

test('an Idempotency-Key is looked up behind the settles that were sent before it, also while their commit fails: one of them may use it up', async () => {
  const { loop, settle, state, answers } = makeLoop(60_000)
  const asked = (number: number): boolean => answers().some((answered) => answered.number === number)
  state.canApply = false
  const find: Task = { kind: 'findIdempotency', keyId: 'key_1', headerHash: new Uint8Array(32), now: 0 }
  loop.add([settle('req_1'), find, { kind: 'foreignHeads' } as const].map((task, index) => ({ number: index + 1, task })))
  await until(() => asked(3), 'what settles do not change is read meanwhile')
  expect(state.done).toEqual(['foreignHeads'])
  state.canApply = true
  await until(() => asked(2), 'it is looked up')
  expect(state.done).toEqual(['foreignHeads', 'settle', 'findIdempotency'])
  loop.close()
})

test('what settles do not change is read while commits fail, however many reads wait behind these', async () => {
  const { loop, settle, state, answers } = makeLoop(60_000)
  state.canApply = false
  const find: Task = { kind: 'findIdempotency', keyId: 'key_1', headerHash: new Uint8Array(32), now: 0 }
  loop.add([settle('req_1'), ...Array.from({ length: 3_000 }, () => find)].map((task, index) => ({ number: index + 1, task })))
  loop.add([{ number: 5_000, task: { kind: 'foreignHeads' } }])
  await until(() => answers().length > 0, 'it is read')
  expect(answers()).toEqual([{ number: 5_000, answer: 'unavailable' }])
  expect(state.done).toEqual(['foreignHeads'])
  state.canApply = true
  await until(() => answers().length === 3_001, 'all are looked up')
  loop.close()
})

test('leases alone that failed, and then did not, leave nothing behind that keeps later tasks from being done', async () => {
  const { loop, settle, state, answers, settled } = makeLoop(60_000)
  state.canApply = false
  loop.add([{ number: 1, task: { kind: 'ask', ask } }])
  await until(() => state.applies > 0, 'it was tried')
  state.canApply = true
  await until(() => answers().length === 1, 'it is answered')
  loop.add([{ number: 2, task: settle('req_1') }])
  await until(() => settled().includes(2), 'it is settled')
  loop.close()
})

test('a spill that a lock keeps out of the ledger when the storage works again is replayed by itself once the lock is gone', async () => {
  const { loop, settle, state, answers } = makeLoop()
  state.canApply = false
  state.isLocked = true
  loop.add([{ number: 1, task: settle('req_1') }])
  await until(() => answers().some(({ number, answer }) => number === 1 && answer === 'spilled'), 'it is spilled')
  state.canApply = true
  await until(() => state.heldReplays > 0, 'it was locked')
  state.isLocked = false
  await until(() => state.done.includes('replay'), 'it is replayed')
  loop.close()
})

test('what a lock had spilled is replayed by itself, though the storage fails at the first look', async () => {
  const { loop, settle, state, answers } = makeLoop()
  state.areRowsLocked = true
  state.isLocked = true
  loop.add([{ number: 1, task: settle('req_1') }])
  await until(() => answers().some(({ number, answer }) => number === 1 && answer === 'spilled'), 'it is spilled')
  state.canReplay = false
  await until(() => state.failedReplays > 0, 'it was tried')
  Object.assign(state, { canReplay: true, areRowsLocked: false, isLocked: false })
  await until(() => state.done.includes('replay'), 'it is replayed')
  loop.close()
})

test('from a storage that cannot even be read every read gets an answer', async () => {
  const { loop, settle, state, answers } = makeLoop()
  state.canRead = false
  const reads: Task[] = [
    { kind: 'foreignHeads' },
    { kind: 'findIdempotency', keyId: 'key_1', headerHash: new Uint8Array(32), now: 0 },
    { kind: 'keyStates', keyIds: ['key_1'] },
  ]
  loop.add([settle('req_1'), ...reads].map((task, index) => ({ number: index + 1, task })))
  await until(() => answers().length === 4, 'all are answered')
  loop.add(reads.map((task, index) => ({ number: index + 5, task })))
  await until(() => answers().length === 7, 'all are answered')
  expect(
    answers()
      .filter(({ number }) => number > 1)
      .map(({ answer }) => answer),
  ).toEqual(Array.from({ length: 6 }, () => 'unavailable'))
  expect(state.done).toEqual([])
  loop.close()
})
