/**
 * Protects ledger.md "Failing writes", "Spill" in the commit loop: whichever way a store fails, and whenever, every task is answered once, every settle is booked once, and
 * once the store works nothing is left behind that keeps later tasks from being done.
 */

import { expect, test } from 'bun:test'
import type { Task } from '../../src/ledger/task.ts'
import { ask, makeLoop } from '../support/commit-loop.ts'
import { type Random, randomFrom, SEED } from '../support/seed.ts'
import { until } from '../support/until.ts'

const WORLDS = 60
const STEPS = 25
const RETRY_MS = [0, 120, 60_000]
const TROUBLES = ['canApply', 'canRead', 'canReplay', 'isLocked', 'areRowsLocked'] as const
const find: Task = { kind: 'findIdempotency', keyId: 'key_1', headerHash: new Uint8Array(32), now: 0 }

async function live(random: Random): Promise<void> {
  const { loop, settle, state, answers, settled, told } = makeLoop(pick(RETRY_MS, random))
  const WELL = { canApply: true, canRead: true, canReplay: true, isLocked: false, areRowsLocked: false }
  let last = 0
  const asked: Task[] = []
  const add = (tasks: readonly Task[]): void => {
    asked.push(...tasks)
    loop.add(tasks.map((task) => ({ number: ++last, task })))
  }
  const makeTask = (): Task => {
    const one = random()
    if (one < 0.5) return settle(`req_${asked.length}`)
    return one < 0.75 ? { kind: 'ask', ask } : one < 0.9 ? find : { kind: 'foreignHeads' }
  }
  for (let step = 0; step < STEPS; step++) {
    if (random() < 0.4) Object.assign(state, WELL)
    else {
      const trouble = pick(TROUBLES, random)
      state[trouble] = !state[trouble]
    }
    // One at a time, since a settle's id is the number of tasks before it.
    for (let count = Math.floor(random() * 3); count > 0; count--) add([makeTask()])
    await Bun.sleep(random() * 80)
  }
  Object.assign(state, WELL)
  const numbers = (): readonly number[] => [...settled(), ...answers().map(({ number }) => number)].toSorted((a, b) => a - b)
  await until(
    () => numbers().length >= last && loop.isSpillEmpty && loop.isIdle,
    () => `all ${last} are answered and the spill is empty, but ${numbers().length} are, and it is ${loop.isSpillEmpty}`,
  )
  add([settle('req_last')])
  await until(() => settled().includes(last), 'a later settle is done')
  expect(numbers()).toEqual(asked.map((_, index) => index + 1))
  const refused = new Set(answers().flatMap(({ number, answer }) => (answer === 'unavailable' ? [number] : [])))
  const due = asked.flatMap((task, index) => (task.kind === 'settle' && !refused.has(index + 1) ? [task.debit.requestId] : []))
  expect(state.booked.toSorted()).toEqual(due.toSorted())
  expect(asked.filter((task, index) => task.kind === 'settle' && refused.has(index + 1))).toEqual([])
  expect(told.at(-1)).toMatchObject({ isWritable: true, spillBytes: 0 })
  loop.close()
}

const pick = <T>(some: readonly T[], random: Random): T => some[Math.floor(random() * some.length)] as T

test('whatever happens to its store, every task is answered once and every settle is booked once', async () => {
  const worlds = Array.from({ length: WORLDS }, (_, world) => live(randomFrom(SEED + world)))
  const failed = (await Promise.allSettled(worlds)).flatMap((world, index) =>
    world.status === 'rejected' ? [`TEST_SEED=${SEED} world ${index}: ${world.reason}`] : [],
  )
  expect(failed).toEqual([])
}, 120_000)
