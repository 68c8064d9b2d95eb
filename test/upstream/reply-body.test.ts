/** A body that is pushed is heard whole and in order by who takes it, whenever that is; little of it waits; who has enough hears nothing more. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { beginningOf, bodyOf, PulledBody, PushedBody, type ReplyBody, wholeOf } from '../../src/upstream/reply-body.ts'
import { runs } from '../support/property-runs.ts'

function source() {
  const calls: string[] = []
  return { calls, pause: () => void calls.push('pause'), resume: () => void calls.push('resume'), cancel: () => void calls.push('cancel') }
}

const textOf = (bytes: Uint8Array | string): string => (typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes))
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('every piece is heard in order, then the end or the break, once, wherever the taker comes in', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 5 }), { maxLength: 8 }), fc.nat(9), fc.boolean(), (pieces, takenAt, isBroken) => {
      const body = new PushedBody(source())
      const heard: string[] = []
      const sink = {
        data: (piece: Uint8Array) => void heard.push(textOf(piece)),
        end: () => void heard.push('END'),
        broken: () => void heard.push('BROKEN'),
      }
      const events = [
        ...pieces.map((piece) => () => body.data(bytes(piece))),
        () => (isBroken ? body.broken() : body.end()),
        () => body.end(),
      ]
      events.forEach((event, at) => {
        if (at === takenAt) body.into(sink)
        event()
      })
      if (takenAt >= events.length) body.into(sink)
      expect(heard).toEqual([...pieces, isBroken ? 'BROKEN' : 'END'])
    }),
    { numRuns: runs(100) },
  )
})

test('a body that nobody takes is paused at 64 KiB and goes on when it is taken', () => {
  const from = source()
  const body = new PushedBody(from)
  for (let i = 0; i < 4; i++) body.data(new Uint8Array(16 * 1024))
  expect(from.calls).toEqual([])
  body.data(new Uint8Array(1))
  expect(from.calls).toEqual(['pause'])
  body.into({ data: () => undefined, end: () => undefined, broken: () => undefined })
  expect(from.calls).toEqual(['pause', 'resume'])
})

test('a body that was let go is not heard of again, also not what had been read of it', () => {
  const from = source()
  const body = new PushedBody(from)
  const heard: string[] = []
  for (const piece of ['a', 'b', 'c']) body.data(bytes(piece))
  body.into({
    data(piece) {
      heard.push(textOf(piece))
      if (heard.length === 2) body.cancel()
    },
    end: () => void heard.push('END'),
    broken: () => void heard.push('BROKEN'),
  })
  body.data(bytes('d'))
  body.end()
  expect([heard, from.calls]).toEqual([['a', 'b'], ['cancel']])
})

test('a whole body is what came, or why there is none: broken, too large, or what its reader says', async () => {
  const bodies: readonly (() => ReplyBody)[] = [
    () => bodyOf(bytes('whole')),
    () => new PulledBody(new Blob(['who', 'le']).stream()),
    () => {
      const body = new PushedBody(source())
      queueMicrotask(() => {
        for (const piece of ['wh', 'ole']) body.data(bytes(piece))
        body.end()
      })
      return body
    },
  ]
  for (const make of bodies) {
    expect(textOf(await wholeOf(make(), 5))).toBe('whole')
    expect(await wholeOf(make(), 4)).toBe('too-large')
    expect(await wholeOf(make(), 5, (length) => (length === 5 ? 'no room' : undefined))).toBe('no room')
  }
  const broken = new PushedBody(source())
  broken.data(bytes('a'))
  broken.broken()
  expect(await wholeOf(broken, 5)).toBe('broken')
})

test('a body that is pulled waits for a slow taker, and is let go without a rejection that nobody sees', async () => {
  let pulls = 0
  let isCancelled = false
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => controller.enqueue(bytes(String(++pulls))),
      cancel: () => {
        isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  const body = new PulledBody(stream)
  const heard: string[] = []
  body.into({
    data(piece) {
      heard.push(textOf(piece))
      body.pause()
    },
    end: () => undefined,
    broken: () => void heard.push('BROKEN'),
  })
  await Bun.sleep(5)
  expect(heard).toEqual(['1'])
  body.resume()
  await Bun.sleep(5)
  expect(heard).toEqual(['1', '2'])
  body.cancel()
  await Bun.sleep(5)
  expect([heard, isCancelled]).toEqual([['1', '2'], true])
})

test('the beginning of a body is what has come in time, and no more than is wanted', async () => {
  const from = source()
  const body = new PushedBody(from)
  body.data(bytes('late'))
  expect(textOf(await beginningOf(body, 100, 10))).toBe('late')
  expect(from.calls).toEqual(['cancel'])
  const long = new PushedBody(source())
  for (const piece of ['abc', 'def', 'ghi']) long.data(bytes(piece))
  expect(textOf(await beginningOf(long, 4, 10_000))).toBe('abcdef')
})
