/** What a body may pile up in memory for a reader that is slower than its upstream: little, whatever the upstream does; and nothing is lost or told twice. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { BodyStream } from '../../src/upstream/body-stream.ts'
import { runs } from '../support/property-runs.ts'
import { sourceOf } from './call.ts'

const READ = new Uint8Array(16 * 1024)

function start() {
  const calls: string[] = []
  const source = sourceOf(calls)
  const sink = new BodyStream(source)
  return { sink, calls, reader: sink.stream.getReader() }
}

test('the source is paused when 64 KiB wait, and resumed by a read that finds nothing', async () => {
  const { sink, calls, reader } = start()
  for (let read = 0; read < 4; read++) sink.data(READ)
  expect(calls).toEqual([])
  sink.data(READ)
  expect(calls).toEqual(['pause'])
  for (let read = 0; read < 5; read++) await reader.read()
  expect(calls).toEqual(['pause'])
  const next = reader.read()
  await Bun.sleep(0)
  expect(calls).toEqual(['pause', 'resume'])
  sink.data(READ)
  expect((await next).value).toBe(READ)
})

test('a reader that keeps up never pauses the source, however much comes', async () => {
  const { sink, calls, reader } = start()
  for (let read = 0; read < 20; read++) {
    const next = reader.read()
    await Bun.sleep(0)
    sink.data(READ)
    await next
  }
  expect(calls).not.toContain('pause')
})

test('after the reader has left, or the body has ended, nothing more is heard of the source', async () => {
  const left = start()
  await left.reader.cancel()
  left.sink.data(READ)
  left.sink.broken()
  left.sink.end()
  expect(left.calls).toEqual(['cancel'])
  const ended = start()
  ended.sink.data(READ)
  ended.sink.end()
  ended.sink.broken()
  ended.sink.data(READ)
  expect((await ended.reader.read()).value).toBe(READ)
  expect((await ended.reader.read()).done).toBe(true)
  await ended.reader.cancel()
  expect(ended.calls).not.toContain('cancel')
})

test('every piece is read, in order, and then the end or the break, whenever it is read', async () => {
  const step = fc.oneof(fc.constant('read' as const), fc.integer({ min: 1, max: 40_000 }))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.boolean(), async (steps, isBroken) => {
      const { sink, reader } = start()
      const reads: Promise<number | 'ended' | 'broken'>[] = []
      const read = (): void =>
        void reads.push(
          reader.read().then(
            ({ value }) => value?.length ?? 'ended',
            () => 'broken',
          ),
        )
      const pieces = steps.filter((one) => one !== 'read')
      for (const one of steps) {
        if (one === 'read') read()
        else sink.data(new Uint8Array(one))
        await Bun.sleep(0)
      }
      // A break is told at once, also to who has not read all: until then everything is read.
      while (reads.length < pieces.length) read()
      await Promise.all(reads.slice(0, pieces.length))
      if (isBroken) sink.broken()
      else sink.end()
      read()
      const all = await Promise.all(reads)
      expect(all.slice(0, pieces.length)).toEqual(pieces)
      expect(new Set(all.slice(pieces.length))).toEqual(new Set([isBroken ? 'broken' : 'ended']))
    }),
    { numRuns: runs(60) },
  )
})
