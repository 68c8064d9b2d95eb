/** A cut reaches the streams that it is for, all of them and no others. Rules: keys.md "Key records". */

import { expect, test } from 'bun:test'
import { NO_TICK, TimerWheel } from '../../src/core/timer-wheel.ts'
import { type LiveStream, LiveStreams } from '../../src/relay/live-streams.ts'

function makeStream(keyId: string, accountId = 'acc_a'): { stream: LiveStream; stops: string[] } {
  const stops: string[] = []
  const stop = (reason: string): Promise<void> => {
    stops.push(reason)
    return Promise.resolve()
  }
  return { stream: { key: { id: keyId, accountId }, stop }, stops }
}

test('a cut reaches every stream of its key and no other, and none that has ended', async () => {
  const live = new LiveStreams()
  const [running, other, ended] = [makeStream('key_a'), makeStream('key_b'), makeStream('key_a')]
  for (const { stream } of [running, other, ended]) live.add(stream)
  live.remove(ended.stream)
  await live.cut({ keyId: 'key_a' })
  expect([running.stops, other.stops, ended.stops]).toEqual([['disabled'], [], []])
})

test('a cut of an account reaches the streams of all its keys and of no other account', async () => {
  const live = new LiveStreams()
  const streams = [makeStream('key_a'), makeStream('key_b'), makeStream('key_c', 'acc_c')]
  for (const { stream } of streams) live.add(stream)
  await live.cut({ accountId: 'acc_a' })
  expect(streams.map(({ stops }) => stops)).toEqual([['disabled'], ['disabled'], []])
})

test('a stream that also waits in a wheel leaves both, in whatever order the others go', async () => {
  const [live, wheel] = [new LiveStreams(), new TimerWheel()]
  const told: string[] = []
  const streams = Array.from({ length: 6 }, (_, place) => ({
    key: { id: 'key_a', accountId: 'acc_a' },
    stop: () => Promise.resolve(void told.push(`stop ${place}`)),
    tick: NO_TICK,
    onTime: () => void told.push(`time ${place}`),
  }))
  for (const stream of streams) live.add(stream)
  for (const stream of streams.toReversed()) wheel.set(stream, 100)
  for (const stream of [streams[2], streams[0], streams[5], streams[1]]) {
    if (stream === undefined) continue
    wheel.drop(stream)
    live.remove(stream)
    live.remove(stream)
  }
  wheel.turn(1_000)
  await live.cut({ keyId: 'key_a' })
  expect(told.toSorted()).toEqual(['stop 3', 'stop 4', 'time 3', 'time 4'])
  expect(wheel.isEmpty).toBe(true)
})

test('a shutdown stops what runs, and what begins after it at once', async () => {
  const live = new LiveStreams()
  const [running, late] = [makeStream('key_a'), makeStream('key_b')]
  live.add(running.stream)
  await live.drain()
  live.add(late.stream)
  expect([running.stops, late.stops]).toEqual([['drain'], ['drain']])
  for (const { stream } of [running, late]) live.remove(stream)
})

test('word is given once when nearly all of a crowd has gone, and never of a few', () => {
  let calms = 0
  const live = new LiveStreams(() => calms++)
  const crowd = Array.from({ length: 2_000 }, () => makeStream('key_a').stream)
  const leave = (count: number): void => {
    for (const stream of crowd.slice(0, count)) live.add(stream)
    for (const stream of crowd.slice(0, count)) live.remove(stream)
  }
  leave(999)
  expect(calms).toBe(0)
  for (const stream of crowd) live.add(stream)
  for (const stream of crowd.slice(100)) live.remove(stream)
  expect(calms).toBe(1)
  for (const stream of crowd) live.remove(stream)
  leave(999)
  expect(calms).toBe(1)
  leave(1_000)
  expect(calms).toBe(2)
})
