/** The simulator takes the time that it is told to, no longer, and only for who still reads. Rules: faults.md "Simulator". */

import { expect, test } from 'bun:test'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { bodyOf, jumpingClock, requestOf } from './ask.ts'

const LONG = bodyOf('[sim tokens=200]', { stream: true })

test('a stream of 200 tokens at 20 a second takes ten seconds, in many small waits', async () => {
  const clock = jumpingClock()
  await (await makeSimulator({ tokensPerSecond: 20, clock })(requestOf(LONG))).text()
  expect(clock.nowMs()).toBeCloseTo(10_000, 3)
  expect(clock.slept.length).toBeGreaterThan(30)
  expect(Math.max(...clock.slept)).toBeLessThan(2_000)
})

test('the prompt sets the speed, an answer without stream takes as long, and speed 0 never waits', async () => {
  const clock = jumpingClock()
  const simulator = makeSimulator({ clock })
  await (await simulator(requestOf(bodyOf('[sim tokens=200 speed=100]', { stream: true })))).text()
  expect(clock.nowMs()).toBeCloseTo(2_000, 3)
  await simulator(requestOf(bodyOf('[sim tokens=200 speed=100]')))
  expect(clock.nowMs()).toBeCloseTo(4_000, 3)
  await (await simulator(requestOf(bodyOf('[sim tokens=200 speed=0]', { stream: true })))).text()
  expect(clock.nowMs()).toBeCloseTo(4_000, 3)
})

test('time that the reader wasted is not waited for again', async () => {
  const clock = jumpingClock()
  const body = (await makeSimulator({ tokensPerSecond: 20, clock })(requestOf(LONG))).body!
  clock.jump(60_000)
  expect(await new Response(body).text()).toContain('message_stop')
  expect(clock.slept).toEqual([])
})

test('nothing is produced ahead of the reader', async () => {
  const clock = jumpingClock()
  const reader = (await makeSimulator({ tokensPerSecond: 20, clock })(requestOf(LONG))).body!.getReader()
  for (let reads = 0; reads < 5; reads++) await reader.read()
  const slept = clock.slept.length
  await Bun.sleep(5)
  expect(clock.slept.length).toBe(slept)
  expect(slept).toBeLessThanOrEqual(5)
  await reader.cancel()
})

test('abort ends a stream at once, also in the middle of a wait, with the reason of the signal', async () => {
  const leave = new AbortController()
  const simulator = makeSimulator({ tokensPerSecond: 1 })
  const reader = (await simulator(requestOf(LONG, '/v1/messages', leave.signal))).body!.getReader()
  await reader.read()
  await reader.read()
  const sleeping = reader.read()
  leave.abort(new Error('gone'))
  await expect(sleeping).rejects.toThrow('gone')
  await expect(reader.read()).rejects.toThrow('gone')
})

test('abort before the head rejects, as fetch does', async () => {
  for (const body of [bodyOf('[sim slow ms=60000]'), bodyOf('[sim tokens=4000 speed=1]')]) {
    const leave = new AbortController()
    const answer = makeSimulator()(requestOf(body, '/v1/messages', leave.signal))
    setTimeout(() => leave.abort(new Error('gone')), 5)
    await expect(answer).rejects.toThrow('gone')
  }
})

test('cancelling the body stops production', async () => {
  let sleeps = 0
  const isAsleep = Promise.withResolvers<void>()
  const clock = {
    nowMs: () => 0,
    sleep: (_: number, signal: AbortSignal) => {
      sleeps++
      isAsleep.resolve()
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    },
  }
  const reader = (await makeSimulator({ tokensPerSecond: 20, clock })(requestOf(LONG))).body!.getReader()
  await reader.read()
  await reader.read()
  const pending = reader.read()
  await isAsleep.promise
  await reader.cancel()
  expect((await pending).done).toBe(true)
  await Bun.sleep(1)
  expect(sleeps).toBe(1)
})
