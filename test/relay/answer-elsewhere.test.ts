/** Who waits for an answer of another node gets it, or is told in time that there is none. Rules: requests.md "Joined answers". */

import { expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { awaitElsewhere } from '../../src/relay/answer-elsewhere.ts'
import type { StoreFound } from '../../src/relay/answer-store.ts'
import { IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import type { Shown } from '../../src/relay/running-answer.ts'
import { makeTestWorld } from '../support/world.ts'

const ANSWER = { head: { status: 200, contentType: 'application/json', requestId: 'req_first' }, bytes: Buffer.from('{}') }
const USED: StoreFound = { kind: 'used', isSame: true, requestId: 'req_first', answer: ANSWER }

/** One that waits, and a table of claims that the test changes. */
function waiting(finds: () => StoreFound) {
  const { world, advance, setDraining } = makeTestWorld({ limits: { startTimeoutMs: 60_000 } })
  const answers = new IdempotentResponses({ now: () => 0 })
  const answer = answers.begin({ keyId: 'key_1', accountId: 'acc_1', headerHash: 'h' }, { bodyHash: 'b', requestId: 'req_own' })
  const place = answer.join()
  let runs = true
  let looks = 0
  let released = 0
  const store = {
    isRunning: () => {
      looks++
      return Promise.resolve(runs)
    },
    claim: () => Promise.resolve(finds()),
    keep: () => undefined,
    release: () => void released++,
    doubt: () => undefined,
  }
  let shown: Shown | undefined
  const showing = answer.shown().then((what) => {
    shown = what
  })
  const ended = awaitElsewhere(world, { kind: 'elsewhere', answer, store })
  /** Lets time pass in steps in which every answer comes. */
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 100) {
      advance(100)
      for (let turn = 0; turn < 8; turn++) await Promise.resolve()
    }
  }
  return {
    answers,
    place,
    ended: Promise.all([ended, showing]),
    pass,
    setDraining,
    shown: () => shown,
    looks: () => looks,
    released: () => released,
    end: () => {
      runs = false
    },
  }
}

test('the answer is given when the claim has ended, and this node has nothing left of it', async () => {
  const one = waiting(() => USED)
  await one.pass(10_000)
  expect(one.shown()).toBeUndefined()
  // Fewer and fewer looks: one a second.
  expect(one.looks()).toBeLessThan(16)
  one.end()
  await one.pass(1_200)
  expect(one.shown()).toMatchObject({ kind: 'finished', head: { requestId: 'req_first', status: 200 }, bytes: ANSWER.bytes })
  await one.ended
  one.place?.leave()
  expect(one.answers.bytes).toBe(0)
})

test('one that ended without an answer leaves the header free, and who waited is told to come again', async () => {
  const one = waiting(() => ({ kind: 'claimed' }))
  one.end()
  await one.pass(200)
  expect(one.shown()).toEqual(new Refusal('repetitionRunning'))
  expect(one.released()).toBe(1)
})

test('a next one that claims it before is waited for as well', async () => {
  let isTaken = true
  const one = waiting(() => (isTaken ? { kind: 'running', isSame: true } : USED))
  one.end()
  await one.pass(3_000)
  expect(one.shown()).toBeUndefined()
  isTaken = false
  await one.pass(1_200)
  expect(one.shown()).toMatchObject({ kind: 'finished' })
})

test('nobody waits longer than for an answer of this node, nor for a shutdown', async () => {
  const late = waiting(() => USED)
  await late.pass(61_000)
  expect(late.shown()).toEqual(new Refusal('timedOut'))
  const drained = waiting(() => USED)
  await drained.pass(500)
  drained.setDraining(true)
  await drained.pass(2_000)
  expect(drained.shown()).toEqual(new Refusal('draining'))
})

test('nothing is asked once all who waited have left', async () => {
  const one = waiting(() => USED)
  await one.pass(500)
  one.place?.leave()
  await one.pass(2_000)
  const looks = one.looks()
  await one.pass(5_000)
  expect(one.looks()).toBe(looks)
  await one.ended
  expect(one.answers.bytes).toBe(0)
})

test('what was charged and is kept nowhere is refused for good, and a table that cannot be read is 503', async () => {
  for (const [found, name] of [
    [{ kind: 'used', isSame: true, requestId: 'req_first', answer: undefined }, 'invalidRequest'],
    [{ kind: 'unavailable' }, 'storageUnavailable'],
  ] as const) {
    const one = waiting(() => found)
    one.end()
    await one.pass(200)
    expect(one.shown()).toMatchObject({ name })
  }
})
