/** A body waits for whoever takes it: little of it, all of it in order, and its end once; what is let go is heard of no more. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { PulledBody } from '../../src/upstream/pulled-body.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { BodySink } from '../../src/upstream/upstream.ts'
import { runs } from '../support/property-runs.ts'
import { sourceOf } from './call.ts'

const READ = new Uint8Array(16 * 1024)

function start() {
  const calls: string[] = []
  const source = sourceOf(calls)
  const heard: (number | string)[] = []
  const sink: BodySink = {
    data: (piece) => heard.push(piece.length),
    end: () => heard.push('ended'),
    broken: () => heard.push('broken'),
  }
  return { body: new PushedBody(source), calls, heard, sink }
}

test('the source is paused when 64 KiB wait for somebody, and resumed before the first piece is handed over', () => {
  const { body, calls, heard, sink } = start()
  for (let read = 0; read < 4; read++) body.data(READ)
  expect(calls).toEqual([])
  body.data(READ)
  expect(calls).toEqual(['pause'])
  body.take({ ...sink, data: (piece) => calls.push(`data ${piece.length}`) })
  expect([calls, heard]).toEqual([['pause', 'resume', ...Array.from({ length: 5 }, () => `data ${READ.length}`)], []])
})

test('every piece is handed over in order and then the end, whenever it is taken', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40_000 })), fc.nat(12), fc.boolean(), (pieces, takenAt, isBroken) => {
      const { body, heard, sink } = start()
      const take = (at: number): void => {
        if (at === Math.min(takenAt, pieces.length + 1)) body.take(sink)
      }
      for (const [at, length] of pieces.entries()) {
        take(at)
        body.data(new Uint8Array(length))
      }
      take(pieces.length)
      if (isBroken) body.broken()
      else body.end()
      take(pieces.length + 1)
      expect(heard).toEqual([...pieces, isBroken ? 'broken' : 'ended'])
    }),
    { numRuns: runs(100) },
  )
})

test('a sink that lets it go in the middle hears no more of what waited, and the source hears of it once', () => {
  const { body, calls, heard, sink } = start()
  for (let read = 0; read < 3; read++) body.data(READ)
  body.take({
    ...sink,
    data(piece) {
      sink.data(piece)
      body.cancel()
      body.cancel()
    },
  })
  expect([heard, calls]).toEqual([[READ.length], ['resume', 'cancel']])
})

test('a stream that is pulled gives its pieces, its end or its break, and none of them after it was let go', async () => {
  const make = (end: 'close' | 'error'): ReadableStream<Uint8Array> =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(1))
        controller.enqueue(new Uint8Array(2))
        if (end === 'close') controller.close()
      },
      pull: (controller) => controller.error(new Error('reset')),
    })
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await Bun.sleep(0)
  }
  for (const [end, last] of [
    ['close', 'ended'],
    ['error', 'broken'],
  ] as const) {
    const { heard, sink } = start()
    new PulledBody(make(end)).take(sink)
    await turns()
    expect(heard).toEqual([1, 2, last])
    const paused = start()
    const body = new PulledBody(make(end))
    body.take({
      ...paused.sink,
      data(piece) {
        paused.sink.data(piece)
        body.pause()
      },
    })
    await turns()
    expect(paused.heard).toEqual([1])
    body.resume()
    await turns()
    expect(paused.heard).toEqual([1, 2])
    body.cancel()
    body.resume()
    await turns()
    expect(paused.heard).toEqual([1, 2])
  }
})
