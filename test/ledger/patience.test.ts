/** Protects nodes.md "Silence": whoever waits for a Postgres that says nothing is told so, and no one else is. */

import { expect, test } from 'bun:test'
import { Patience } from '../../src/ledger/admission/patience.ts'
import { until } from '../support/until.ts'

const SILENCE_MS = 600

function makePatience() {
  const clock = { ms: 0 }
  const bugs: unknown[] = []
  const patience = new Patience({ onBug: (bug) => bugs.push(bug), silenceMs: SILENCE_MS, lookMs: 1, monotonicMs: () => clock.ms })
  return { patience, clock, bugs }
}

test('what a server answers in time is what comes of it, however long the server was silent before', async () => {
  const { patience, clock } = makePatience()
  expect(await patience.whileHeard(Promise.resolve(1))).toBe(1)
  clock.ms += SILENCE_MS + 1
  expect(await patience.whileHeard(Promise.resolve(2))).toBe(2)
})

test('who waits is told once nothing was heard, and not while something is', async () => {
  const { patience, clock } = makePatience()
  const { promise: never } = Promise.withResolvers<string>()
  let told: string | undefined
  const waiting = patience.whileHeard(never).then((answer) => {
    told = answer
  })
  for (let heard = 0; heard < 3; heard++) {
    clock.ms += SILENCE_MS
    patience.hear()
    await Bun.sleep(10)
  }
  expect(told).toBeUndefined()
  expect(patience.isOver).toBe(false)
  clock.ms += SILENCE_MS + 1
  expect(patience.isOver).toBe(true)
  await waiting
  expect(told).toBe('unavailable')
})

test('an answer that is there already is not missed because this thread stood still', async () => {
  const { patience, clock } = makePatience()
  const { promise, resolve } = Promise.withResolvers<string>()
  const waiting = patience.whileHeard(promise)
  clock.ms += SILENCE_MS + 1
  Bun.sleepSync(20)
  // As a socket is read: behind the timers that were due.
  setImmediate(() => resolve('answered'))
  expect(await waiting).toBe('answered')
})

test('what comes later is told to be freed, and a bug in it to the operator', async () => {
  const { patience, clock, bugs } = makePatience()
  const late: string[] = []
  const [granted, broken] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const waiting = [granted, broken].map(({ promise }) => patience.whileHeard(promise, (answer) => late.push(answer)))
  clock.ms += SILENCE_MS + 1
  expect(await Promise.all(waiting)).toEqual(['unavailable', 'unavailable'])
  granted.resolve('held')
  broken.reject(new Error('a bug'))
  await until(() => late.length + bugs.length === 2, 'both are told')
  expect(late).toEqual(['held'])
  expect(bugs).toEqual([new Error('a bug')])
  const inTime = Promise.resolve('held')
  expect(await patience.whileHeard(inTime, (answer) => late.push(answer))).toBe('held')
  expect(late).toHaveLength(1)
})
