/**
 * Protects processes.md "Death": an end that no writer takes and no spill keeps is refused after a time, and not before; an end that is due when its process closes is tried once
 * more.
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { AwayEnds } from '../../src/ledger/admission/away-ends.ts'
import { type Heard, PendingTasks } from '../../src/ledger/admission/pending-tasks.ts'
import type { Answer } from '../../src/ledger/task.ts'
import { VirtualTime } from '../sim/virtual-time.ts'

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time.restore())

const CALLS = { requestId: 'req_1', accountNumber: 1, keyNumber: 1, price: 0, attempts: [] }

/** One end that waits, and a read. `keeps`: what the spill does now. */
function makeEnds() {
  const spill = { keeps: false, kept: 0 }
  const pending = new PendingTasks()
  const heard: Heard[] = []
  const resolve = (_: Answer): void => undefined
  const number = pending.add({ task: { kind: 'attempts', calls: CALLS }, resolve, sends: 0 })
  pending.add({ task: { kind: 'foreignHeads' }, resolve, sends: 0 })
  pending.noteSent(number)
  const keep = (): boolean => {
    if (spill.keeps) spill.kept++
    return spill.keeps
  }
  const ends = new AwayEnds(
    { afterMs: 2_000, keep },
    { pending, prices: () => [], answer: (taken, heardOf) => void heard.push(...taken.map(heardOf)) },
  )
  return { ends, spill, heard, pending }
}

/** Runs all timers that are due in this time. */
function pass(ms: number): void {
  const untilMs = performance.now() + ms
  while (time.nextInMs !== undefined && performance.now() + time.nextInMs <= untilMs) time.runNext()
  time.advance(untilMs - performance.now())
}

test('while the spill fails an end waits for ten seconds more, and is then refused as one that may have been written', () => {
  const { ends, heard, pending } = makeEnds()
  ends.begin()
  pass(11_900)
  expect(heard).toEqual([])
  pass(200)
  expect(heard).toMatchObject([{ task: { kind: 'attempts' }, answer: 'unavailable', failure: 'indeterminate' }])
  // What is no end waits for the writer.
  expect(pending.tasks().map(({ task }) => task.kind)).toEqual(['foreignHeads'])
  ends.end()
})

test('an end is kept as soon as the spill works again, once, and the time until it is refused begins anew with each absence', () => {
  const { ends, heard, spill } = makeEnds()
  ends.begin()
  pass(9_000)
  ends.end()
  ends.begin()
  pass(9_000)
  expect(heard).toEqual([])
  spill.keeps = true
  pass(1_000)
  expect([heard.map(({ answer }) => answer), spill.kept]).toEqual([['recorded'], 1])
  ends.end()
})

test('what is due when the writer goes for good is kept, also before the time to wait is over', () => {
  const { ends, heard, spill } = makeEnds()
  ends.begin()
  spill.keeps = true
  ends.last()
  expect([heard.map(({ answer }) => answer), spill.kept]).toEqual([['recorded'], 1])
  pass(5_000)
  expect(spill.kept).toBe(1)
})
