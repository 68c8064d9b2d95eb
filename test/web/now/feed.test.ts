/** One snapshot a second serves all who look, and with nobody there is no timer. Rules: pages.md "Now". */

import { afterEach, beforeEach, expect, jest, test } from 'bun:test'
import type { NowDocument } from '../../../src/web/now/document.ts'
import { NowFeed } from '../../../src/web/now/feed.ts'

let snapshots: number
let measured: number
let isDraining: boolean
let feed: NowFeed
beforeEach(() => {
  jest.useFakeTimers()
  snapshots = 0
  measured = 0
  isDraining = false
  feed = new NowFeed({
    snapshot: () => ({ uptime_s: ++snapshots }) as NowDocument,
    measure: () => {
      measured++
      return Promise.resolve()
    },
    isDraining: () => isDraining,
  })
})
afterEach(() => {
  jest.useRealTimers()
})

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
const pass = async (seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second++) {
    jest.advanceTimersByTime(1_000)
    await settle()
  }
}
const look = async (mayLook: () => boolean = () => true) => {
  const stream = feed.open(() => Promise.resolve(mayLook()))
  await settle()
  return stream?.getReader()
}
const TEXT = new TextDecoder()

test('a hundred who look share one snapshot a second', async () => {
  const readers = await Promise.all(Array.from({ length: 100 }, () => look()))
  const before = snapshots
  for (const reader of readers) expect(TEXT.decode((await reader?.read())?.value)).toMatch(/^data: \{"uptime_s":\d+\}\n\n$/)
  await pass(3)
  expect(snapshots - before).toBe(3)
})

test('with nobody there is no timer and no snapshot', async () => {
  expect(jest.getTimerCount()).toBe(0)
  const reader = await look()
  expect(jest.getTimerCount()).toBeGreaterThan(0)
  await reader?.cancel()
  await pass(1)
  expect([jest.getTimerCount(), feed.listeners]).toEqual([0, 0])
  const before = snapshots
  await pass(5)
  expect(snapshots).toBe(before)
})

test('who may not look any more is let go with the next second, the others see on', async () => {
  let isIn = true
  const [gone, stays] = [await look(() => isIn), await look()]
  await gone?.read()
  await stays?.read()
  isIn = false
  await pass(1)
  expect((await gone?.read())?.done).toBe(true)
  expect((await stays?.read())?.done).toBe(false)
  expect(feed.listeners).toBe(1)
})

test('a drain ends all, and nobody begins to look in it', async () => {
  const reader = await look()
  await reader?.read()
  isDraining = true
  expect(feed.open(() => Promise.resolve(true))).toBeUndefined()
  await pass(1)
  expect((await reader?.read())?.done).toBe(true)
  await pass(1)
  expect([jest.getTimerCount(), feed.listeners]).toEqual([0, 0])
})

test('who does not read misses events, holds up nobody and is let go in the end', async () => {
  const [asleep, awake] = [await look(), await look()]
  for (let second = 0; second < 40; second++) {
    await pass(1)
    await awake?.read()
  }
  expect(feed.listeners).toBe(1)
  const kept: string[] = []
  for (;;) {
    const next = await asleep?.read()
    if (next === undefined || next.done) break
    kept.push(TEXT.decode(next.value))
  }
  expect(kept.length).toBe(2)
})

test('at most 128 look at once', async () => {
  for (let count = 0; count < 128; count++) expect(await look()).toBeDefined()
  expect(await look()).toBeUndefined()
})

test('files and the ledger are asked at first and every three seconds, one question at a time', async () => {
  const reader = await look()
  expect(measured).toBe(1)
  for (let second = 0; second < 6; second++) {
    await pass(1)
    await reader?.read()
  }
  expect(measured).toBe(3)
})
