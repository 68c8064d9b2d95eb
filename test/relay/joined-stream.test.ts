/** A client that has joined a stream, on a clock and a socket that the test moves: what it gets, how long it may take, and how it ends. Rules: requests.md "Joined answers". */

import { expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { ClientBody } from '../../src/relay/client-body.ts'
import { type IdempotencyKey, IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import { JoinedStream } from '../../src/relay/joined-stream.ts'
import type { JoinedPlace, RunningAnswer } from '../../src/relay/running-answer.ts'
import { makeTestWorld } from '../support/world.ts'

const KEY: IdempotencyKey = { keyId: 'key_1', accountId: 'acc_1', headerHash: 'h' }
const HEAD = { status: 200, contentType: 'text/event-stream', requestId: 'req_1' }
const bytes = (text: string): Uint8Array => Buffer.from(text)

function running(more: { accountBytesMax?: number } = {}) {
  const tested = makeTestWorld({ limits: { writeStallMs: 5_000, totalTimeoutMs: 100_000 } })
  const answers = new IdempotentResponses({ now: () => 0, ...more })
  const answer = answers.begin(KEY, { bodyHash: 'b', requestId: 'req_1' })
  return { ...tested, answers, answer, join: () => join(tested, answer) }
}

function join({ world }: ReturnType<typeof makeTestWorld>, answer: RunningAnswer) {
  const place = answer.join() as JoinedPlace
  const said: string[] = []
  let full: PromiseWithResolvers<void> | undefined
  let isSlow = false
  const controller = {
    write(piece: Uint8Array) {
      said.push(Buffer.from(piece).toString())
      if (!isSlow) return piece.length
      full ??= Promise.withResolvers<void>()
      return full.promise
    },
    flush: () => undefined,
    close: (error?: Error) => said.push(error === undefined ? 'CLOSED' : 'BROKEN OFF'),
  }
  const stream: JoinedStream = new JoinedStream({
    world,
    key: { id: 'key_1', accountId: 'acc_1' },
    connection: { restore: () => void said.push('restored'), drop: () => void said.push('DROPPED') },
    answer,
    timings: { heartbeatIdleMs: 15_000 },
    onEnd: () => {
      place.leave()
      said.push('ended')
    },
  })
  return {
    stream,
    said,
    open: () => stream.opened(new ClientBody(controller, stream)),
    slow: () => {
      isSlow = true
    },
    /** The socket has taken everything. */
    drain: async () => {
      isSlow = false
      full?.resolve()
      full = undefined
      await Promise.resolve()
      await Promise.resolve()
    },
  }
}

test('who leaves twice has left once: the bytes stay for the others', () => {
  const { answer } = running()
  const [one, other] = [answer.join() as JoinedPlace, answer.join() as JoinedPlace]
  answer.add(bytes('one '))
  one.leave()
  one.leave()
  answer.drop(new Refusal('internal'))
  expect([answer.isWaitedFor, Buffer.from(answer.read(0, 10) ?? []).toString()]).toEqual([true, 'one '])
  other.leave()
  expect([answer.isWaitedFor, answer.read(0, 10)]).toEqual([false, undefined])
})

test('it gets what was sent so far, then what comes, and its end; nothing of it is left', async () => {
  const { answer, answers, join: joining } = running()
  answer.begin(() => bytes('beat'))
  answer.add(bytes('one '))
  const one = joining()
  one.open()
  expect(one.said).toEqual(['one '])
  answer.add(bytes('two'))
  expect(one.said).toEqual(['one ', 'two'])
  answer.add(bytes(' end'))
  answer.finish(HEAD)
  expect(one.said).toEqual(['one ', 'two', ' end', 'restored', 'CLOSED', 'ended'])
  await one.stream.whenEnded
  expect(answer.isWaitedFor).toBe(false)
  expect(answers.find(KEY)?.kind).toBe('finished')
})

test('before its first byte the head goes out with a comment', () => {
  const { answer, join: joining } = running()
  answer.begin(() => undefined)
  const one = joining()
  one.open()
  expect(one.said).toEqual([': ok\n\n'])
})

test('when it has got nothing for 15 seconds it gets a heartbeat, and none where the end is written', () => {
  const { answer, advance, join: joining } = running()
  let isEnding = false
  answer.begin(() => (isEnding ? undefined : bytes('beat')))
  answer.add(bytes('one'))
  const one = joining()
  one.open()
  advance(14_000)
  answer.add(bytes('two'))
  advance(14_000)
  expect(one.said).toEqual(['one', 'two'])
  advance(2_000)
  advance(16_000)
  expect(one.said).toEqual(['one', 'two', 'beat', 'beat'])
  isEnding = true
  advance(16_000)
  expect(one.said).toHaveLength(4)
})

test('a slow client holds one piece and goes on where it was, also behind an end that is not kept', async () => {
  const { answer, answers, join: joining } = running()
  answer.begin(() => bytes('beat'))
  const one = joining()
  one.open()
  one.slow()
  answer.add(bytes('x'.repeat(200_000)))
  answer.add(bytes('tail'))
  expect(one.said.map(({ length }) => length)).toEqual([6, 65_536])
  answer.drop(new Refusal('upstreamBroken'))
  expect(answers.find(KEY)).toBeUndefined()
  expect(answers.bytes).toBeGreaterThan(200_000)
  await one.drain()
  expect(one.said.slice(1, -3).join('')).toBe(`${'x'.repeat(200_000)}tail`)
  expect(one.said.slice(-3)).toEqual(['restored', 'CLOSED', 'ended'])
  expect(answers.bytes).toBe(0)
})

test('its bytes stay while a slow client reads them, whatever else needs the room', async () => {
  const { answer, answers, join: joining } = running({ accountBytesMax: 200_000 })
  answer.begin(() => bytes('beat'))
  const one = joining()
  one.open()
  one.slow()
  answer.add(bytes('x'.repeat(150_000)))
  answer.finish(HEAD)
  const other = answers.begin({ ...KEY, headerHash: 'other' }, { bodyHash: 'b', requestId: 'req_2' })
  other.add(bytes('y'.repeat(100_000)))
  other.finish(HEAD)
  expect(answers.find(KEY)?.kind).toBe('finished')
  expect(answers.find({ ...KEY, headerHash: 'other' })).toBeUndefined()
  await one.drain()
  expect(one.said.slice(1, -3).join('')).toHaveLength(150_000)
})

test('a client that takes nothing for the write stall is reset, and no other with it', () => {
  const { answer, advance, join: joining } = running()
  answer.begin(() => bytes('beat'))
  const [one, other] = [joining(), joining()]
  one.open()
  other.open()
  one.slow()
  answer.add(bytes('one'))
  advance(4_000)
  expect(one.said).not.toContain('DROPPED')
  advance(2_000)
  expect(one.said.slice(-3)).toEqual(['DROPPED', 'BROKEN OFF', 'ended'])
  answer.add(bytes('two'))
  expect(other.said).toEqual([': ok\n\n', 'one', 'two'])
})

test('it takes no longer than a request may, however it reads', () => {
  const { answer, advance, join: joining } = running()
  answer.begin(() => bytes('beat'))
  const one = joining()
  one.open()
  for (let second = 0; second < 101; second++) advance(1_000)
  expect(one.said.slice(-2)).toEqual(['BROKEN OFF', 'ended'])
})

test('beyond the room who has all of it gets the rest, who is behind is broken off, and nobody more joins', () => {
  const { answer, answers, join: joining } = running({ accountBytesMax: 10_000 })
  answer.begin(() => bytes('beat'))
  const [one, behind, unopened] = [joining(), joining(), joining()]
  one.open()
  behind.open()
  behind.slow()
  answer.add(bytes('x'.repeat(5_000)))
  answer.add(bytes('y'.repeat(9_000)))
  expect(one.said.map(({ length }) => length)).toEqual([6, 5_000, 9_000])
  expect(behind.said.slice(-2)).toEqual(['BROKEN OFF', 'ended'])
  expect(unopened.said).toEqual(['ended'])
  expect(answer.join()).toBeUndefined()
  answer.add(bytes('end'))
  answer.finish(HEAD)
  expect(one.said.slice(-4)).toEqual(['end', 'restored', 'CLOSED', 'ended'])
  expect(answers.bytes).toBe(0)
})

test('a shutdown waits for the end of what it follows, not for a slow client', async () => {
  const { answer, join: joining } = running()
  answer.begin(() => bytes('beat'))
  const [one, slow] = [joining(), joining()]
  one.open()
  slow.open()
  slow.slow()
  answer.add(bytes('one'))
  const stopped = Promise.all([one.stream.stop(), slow.stream.stop()])
  expect(one.said).toEqual([': ok\n\n', 'one'])
  answer.add(bytes('error'))
  answer.drop()
  await stopped
  expect(one.said.slice(-4)).toEqual(['error', 'restored', 'CLOSED', 'ended'])
  expect(slow.said.slice(-2)).toEqual(['BROKEN OFF', 'ended'])
})

test('a client that leaves gives its place back, before its body is opened, too', () => {
  const { answer, join: joining } = running()
  answer.begin(() => bytes('beat'))
  const [one, other] = [joining(), joining()]
  one.stream.left()
  other.open()
  other.stream.left()
  expect([one.said, other.said.at(-1), answer.isWaitedFor]).toEqual([['ended'], 'ended', false])
  one.open()
  expect(one.said).toEqual(['ended', 'BROKEN OFF'])
})

test('where the answer stands for a stream of another relay, one that is stopped gets its end from there, or is broken off after two seconds', async () => {
  for (const isEnded of [true, false]) {
    const { answer, advance, join: joining } = running()
    answer.elsewhere = { take: () => Promise.resolve(true) }
    answer.begin(() => undefined)
    answer.add(bytes('one'))
    const one = joining()
    one.open()
    const stopped = one.stream.stop()
    advance(1_900)
    if (isEnded) answer.drop()
    advance(200)
    await stopped
    expect([isEnded, one.said]).toEqual([isEnded, ['one', ...(isEnded ? ['restored', 'CLOSED'] : ['BROKEN OFF']), 'ended']])
  }
})

test('who follows an answer whose rest is lost is broken off, also where it has all that came', () => {
  const { answer, join: joining } = running()
  answer.begin(() => undefined)
  answer.add(bytes('one'))
  const one = joining()
  one.open()
  answer.breakOff()
  expect(one.said).toEqual(['one', 'BROKEN OFF', 'ended'])
})
