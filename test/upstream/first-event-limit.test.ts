/** An upstream that says nothing is left for the next one while nothing of an answer has gone to the client. Rules: faults.md "Time limits". */

import { beforeEach, expect, test } from 'bun:test'
import { CallStop } from '../../src/relay/deadline.ts'
import type { Fault } from '../../src/upstream/upstream.ts'
import { answer, type Behaviour, fails, PoolStage } from './pool-stage.ts'

let stage: PoolStage
beforeEach(() => {
  stage = new PoolStage()
})

/** Says nothing until it is stopped. */
const silent: Behaviour = (request, by) => {
  const { promise, resolve } = Promise.withResolvers<Fault>()
  by.listener = () => resolve(fails('aborted')(request, by) as Fault)
  return promise
}

const LIMITED = { firstEventTimeoutMs: 2_000 }

test('by its time the next upstream is asked, and the silence is trouble of the first', async () => {
  const scripts = stage.members({ a: silent, b: answer }, { b: { priority: 1 } })
  const called = stage.call(['a', 'b'], {}, new CallStop(), LIMITED)
  await stage.pass(1_900)
  expect(scripts['b']?.asked).toEqual([])
  await stage.pass(400)
  expect(scripts['b']?.asked).toHaveLength(1)
  expect(await called).toMatchObject({ from: 'b' })
  expect(stage.log.failed).toMatchObject([{ upstream: 'a', cause: 'first event', wasSent: true }])
  expect(stage.pool.reports()[0]?.lastFailure).toMatchObject({ cause: 'first event' })
  expect(stage.seen.called).toEqual(['a first event', 'b answered'])
})

test('often enough it opens the breaker; the last one’s silence is the answer', async () => {
  stage.members({ a: silent })
  for (let call = 0; call < 10; call++) {
    const called = stage.call(['a'], {}, new CallStop(), { firstEventTimeoutMs: 200 })
    await stage.pass(300)
    expect(await called).toMatchObject({ cause: 'first event', refusal: { name: 'timedOut' } })
  }
  expect(stage.seen.changed).toEqual(['a open'])
})

test('without a limit it is waited for, and an answer in its time is not ended later', async () => {
  const scripts = stage.members({ a: silent, b: answer })
  const whole = new CallStop()
  const called = stage.call(['a'], {}, whole)
  await stage.pass(60_000)
  expect(stage.log.failed).toEqual([])
  whole.stop('leaver')
  expect(await called).toMatchObject({ cause: 'aborted' })
  const stop = new CallStop()
  const ended: string[] = []
  const b = scripts['b']
  if (b !== undefined)
    b.behave = (request, by) => {
      by.listener = () => ended.push('stopped')
      return answer(request, by)
    }
  expect(await stage.call(['b'], {}, stop, LIMITED)).toMatchObject({ from: 'b' })
  await stage.pass(10_000)
  expect(ended, 'its stream runs').toEqual([])
  stop.stop('leaver')
  expect(ended, 'and is ended with its request').toEqual(['stopped'])
})

test('a client that leaves meanwhile ends the call, and nobody is blamed', async () => {
  stage.members({ a: silent, b: answer }, { b: { priority: 1 } })
  const left = new CallStop()
  const called = stage.call(['a', 'b'], {}, left, LIMITED)
  await stage.pass(500)
  left.stop('leaver')
  expect(await called).toMatchObject({ cause: 'aborted' })
  await stage.pass(5_000)
  expect(stage.pool.reports()[0]?.lastFailure).toBeNull()
})

test('who has left by the time of the limit is no silence of the upstream', async () => {
  const scripts = stage.members({ a: silent, b: answer }, { b: { priority: 1 } })
  const left = new CallStop()
  const called = stage.call(['a', 'b'], {}, left, LIMITED)
  await stage.pass(1_000)
  const gone = left.listener
  // The upstream's call takes its time to end, and the limit passes meanwhile.
  left.listener = undefined
  left.stop('leaver')
  await stage.pass(2_000)
  gone?.()
  expect(await called).toMatchObject({ cause: 'aborted' })
  expect([scripts['b']?.asked, stage.pool.reports()[0]?.lastFailure]).toEqual([[], null])
})
