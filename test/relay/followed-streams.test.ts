/**
 * A stream that one relay sends, and repetitions of its request at another one: what they get, how it ends for them, and that neither relay keeps anything of it. The way between the relays is
 * a function that the test can cut. Rules: requests.md "Joined answers"; processes.md "Shared".
 */

import { expect, spyOn, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import type { FollowAsk, FollowReply } from '../../src/ledger/shared-answers.ts'
import type { Follow, StoreFound } from '../../src/relay/answer-store.ts'
import { FollowElsewhere } from '../../src/relay/follow-elsewhere.ts'
import { FollowedThere } from '../../src/relay/follow-there.ts'
import { type IdempotencyKey, IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import { joinRunning } from '../../src/relay/join-running.ts'
import type { Repetition } from '../../src/relay/repetition.ts'
import { makeTestWorld } from '../support/world.ts'

const KEY: IdempotencyKey = { keyId: 'key_1', accountId: 'acc_1', headerHash: 'h' }
const HEAD = { status: 200, contentType: 'text/event-stream', requestId: 'req_first' }
const bytes = (text: string): Uint8Array => Buffer.from(text)

function twoRelays({ bytesMax = 1024 * 1024 } = {}) {
  const { world, advance } = makeTestWorld()
  const answers = new IdempotentResponses({ now: () => 0, accountBytesMax: bytesMax })
  const first = answers.begin(KEY, { bodyHash: 'b', requestId: 'req_first' })
  const there = new FollowedThere(world, answers)
  const way: { reply: FollowReply | undefined; found: StoreFound; hasBug: boolean } = {
    reply: undefined,
    hasBug: false,
    found: { kind: 'claimed' },
  }
  const asked: FollowAsk[] = []
  const follow: Follow = async (ask) => {
    const whole = structuredClone({ ...ask, keyId: KEY.keyId, header: KEY.headerHash, body: 'b' })
    asked.push(whole)
    if (way.hasBug && ask.at !== undefined) throw new Error('a bug')
    if (asked.length > 2_000) throw new Error('it asks without end')
    // Without its name only the relay that has the claim can be asked.
    if (ask.owner === undefined && first.hasEnded) return 'gone'
    if (way.reply !== undefined) return way.reply
    const told = await there.tell(whole)
    return way.reply ?? (structuredClone({ ...told, owner: 'relay_1' }) satisfies FollowReply)
  }
  let released = 0
  const follower = () => {
    const here = new IdempotentResponses({ now: () => 0 })
    const answer = here.begin(KEY, { bodyHash: 'b', requestId: 'req_second' })
    const store = {
      isRunning: async () => true,
      claim: async () => way.found,
      keep: () => undefined,
      release: () => void released++,
      doubt: () => undefined,
    }
    const stream = new FollowElsewhere(world, { kind: 'elsewhere', answer, store }, follow)
    answer.elsewhere = stream
    const join = async (): Promise<Repetition | Refusal> => {
      const taken: Parameters<typeof joinRunning>[2] = { lease: {} as Repetition['lease'], place: undefined }
      const joined = await joinRunning(answer, { id: 'key_1' } as Repetition['key'], taken)
      taken.place?.leave()
      return joined
    }
    const said: string[] = []
    const followed = { grew: () => undefined, passed: (piece: Uint8Array) => void said.push(Buffer.from(piece).toString()) }
    answer.follow(followed)
    return { here, answer, stream, join, said, text: () => Buffer.from(answer.read(0, 10_000_000) ?? []).toString() }
  }
  return { world, advance, answers, first, there, way, asked, follower, released: () => released }
}

/** Every answer comes that is on its way. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve()
}

/** One who waits at another relay and has what was sent so far. */
async function followed(options?: Parameters<typeof twoRelays>[0]) {
  const relays = twoRelays(options)
  relays.first.begin(() => undefined)
  relays.first.add(bytes('one'))
  const one = relays.follower()
  await one.join()
  const running = one.stream.run()
  await settle()
  return { ...relays, one, running }
}

async function leave(joined: Repetition | Refusal): Promise<void> {
  if (joined instanceof Refusal || !('place' in joined.of)) throw new Error('it has not joined')
  joined.of.place.leave()
  await settle()
}

test('it gets what was sent so far, then what comes, and its end, as the request that was first; nothing of it is left', async () => {
  const { first, answers, there, follower } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('x'.repeat(200_000)))
  const one = follower()
  const joined = await one.join()
  const running = one.stream.run()
  await settle()
  expect([one.answer.known, one.answer.requestId, one.text().length]).toEqual(['stream', 'req_first', 200_000])
  first.add(bytes(' and'))
  await settle()
  first.add(bytes(' the end'))
  first.finish(HEAD)
  await settle()
  expect(one.text()).toBe(`${'x'.repeat(200_000)} and the end`)
  expect([one.answer.hasEnded, one.answer.isBroken]).toEqual([true, false])
  await running
  await leave(joined)
  expect([there.count, first.isWaitedFor, one.here.bytes, answers.find(KEY)?.kind]).toEqual([0, false, 0, 'finished'])
})

test('an answer that the claim there finds kept is given as that of its own request, not of the repetition that asked for it', async () => {
  const { first, follower } = twoRelays()
  const one = follower()
  await one.join()
  const running = one.stream.run()
  await settle()
  first.drop({ kind: 'finished', head: { ...HEAD, requestId: 'req_earlier' }, bytes: bytes('kept') })
  await running
  expect(one.answer.known).toMatchObject({ kind: 'finished', head: { ...HEAD, requestId: 'req_earlier' } })
})

test('a stream says nothing more to a relay of which no client waits any more', async () => {
  const { first, advance, there, follower } = twoRelays()
  const [follows, leaves] = [spyOn(first, 'follow'), spyOn(first, 'unfollow')]
  first.begin(() => undefined)
  const one = follower()
  const joined = await one.join()
  const running = one.stream.run()
  await settle()
  expect([follows.mock.calls.length, leaves.mock.calls.length]).toEqual([1, 0])
  await leave(joined)
  // It is heard when the question that is held has its answer.
  advance(1_100)
  await settle()
  expect([there.count, leaves.mock.calls.length]).toEqual([0, 1])
  expect(leaves.mock.calls[0]?.[0]).toBe(follows.mock.calls[0]?.[0])
  first.drop()
  await running
})

test('a stream that has begun is joined before its first byte', async () => {
  const { first, follower } = twoRelays()
  const one = follower()
  const joined = await one.join()
  const running = one.stream.run()
  await settle()
  expect(one.answer.known).toBeUndefined()
  first.begin(() => undefined)
  await settle()
  expect(one.answer.known).toBe('stream')
  await leave(joined)
  first.drop()
  await running
})

test('a first one that ends without a stream gives its error, once, and the header is free', async () => {
  const { first, follower, there } = twoRelays()
  const one = follower()
  const joined = await one.join()
  const running = one.stream.run()
  await settle()
  first.drop(new Refusal('upstreamBusy', { retryAfterSeconds: 7 }))
  await running
  expect(one.answer.known).toEqual(new Refusal('upstreamBusy', { retryAfterSeconds: 7 }))
  expect([one.answer.requestId, one.here.running(KEY)]).toEqual(['req_first', undefined])
  await leave(joined)
  expect([there.count, one.here.bytes]).toEqual([0, 0])
})

test('an error that comes before the first question about the stream is given all the same', async () => {
  const { first, follower } = twoRelays()
  const one = follower()
  await one.join()
  first.drop(new Refusal('timedOut'))
  await one.stream.run()
  expect(one.answer.known).toEqual(new Refusal('timedOut'))
})

test('sixteen take part over all relays, and a place that is left is free', async () => {
  const { first, follower, advance } = twoRelays()
  first.begin(() => undefined)
  const [one, other] = [follower(), follower()]
  const places: (Repetition | Refusal)[] = []
  for (let place = 0; place < 8; place++) places.push(await one.join(), await other.join())
  expect(places.filter((place) => place instanceof Refusal)).toEqual([])
  expect([await one.join(), await other.join(), first.join()]).toEqual([
    new Refusal('repetitionRunning'),
    new Refusal('repetitionRunning'),
    undefined,
  ])
  const running = [one.stream.run(), other.stream.run()]
  await settle()
  await leave(places[0] as Repetition)
  advance(1_100)
  await settle()
  expect(await other.join()).not.toBeInstanceOf(Refusal)
  first.finish(HEAD)
  await Promise.all(running)
})

test('who comes when the answer has outgrown its room is refused, and one that is not behind gets the rest', async () => {
  const { first, follower, one, running } = await followed({ bytesMax: 10_000 })
  first.add(bytes('y'.repeat(20_000)))
  expect(await follower().join()).toEqual(new Refusal('repetitionRunning'))
  expect(await one.join()).toEqual(new Refusal('repetitionRunning'))
  await settle()
  for (let piece = 0; piece < 5; piece++) {
    first.add(bytes('z'.repeat(100_000)))
    await settle()
  }
  first.finish(HEAD)
  await running
  expect(one.text()).toBe(`one${'y'.repeat(20_000)}${'z'.repeat(500_000)}`)
  expect(one.answer.isBroken).toBe(false)
})

test('one that has all that had room, and misses too much of what has none, is broken off', async () => {
  const { first, way, advance, one, running } = await followed({ bytesMax: 10_000 })
  way.reply = 'unavailable'
  for (let piece = 0; piece < 3; piece++) first.add(bytes('y'.repeat(100_000)))
  first.finish(HEAD)
  await settle()
  way.reply = undefined
  advance(100)
  await settle()
  expect([one.text(), one.answer.hasEnded, one.answer.isBroken]).toEqual(['one', true, true])
  await running
})

test('one that is far behind when the room is outgrown is broken off', async () => {
  const { first, follower, way } = twoRelays({ bytesMax: 400_000 })
  first.begin(() => undefined)
  const one = follower()
  await one.join()
  const running = one.stream.run()
  await settle()
  way.reply = 'unavailable'
  for (let piece = 0; piece < 6; piece++) first.add(bytes('y'.repeat(100_000)))
  way.reply = undefined
  await settle()
  first.finish(HEAD)
  await settle()
  expect(one.answer.isBroken).toBe(true)
  await running
})

test('while the way is away it waits, and goes on where it was; when that lasts too long it is broken off', async () => {
  const { first, follower, way, advance } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('one '))
  const one = follower()
  await one.join()
  const running = one.stream.run()
  await settle()
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 100) {
      advance(100)
      await settle()
    }
  }
  way.reply = 'unavailable'
  first.add(bytes('two '))
  await pass(5_000)
  expect([one.text(), one.answer.hasEnded]).toEqual(['one ', false])
  way.reply = undefined
  await pass(200)
  first.add(bytes('three'))
  await settle()
  expect(one.text()).toBe('one two three')
  way.reply = 'unavailable'
  await pass(7_000)
  expect(one.answer.hasEnded).toBe(false)
  await pass(5_000)
  expect([one.answer.hasEnded, one.answer.isBroken]).toEqual([true, true])
  await running
})

test('the death of the first one breaks a stream off that has begun, and lets what has not begun be looked up', async () => {
  const { first, follower, way, released } = twoRelays()
  const waiting = follower()
  await waiting.join()
  way.reply = 'gone'
  await waiting.stream.run()
  expect([waiting.answer.known, released()]).toEqual([new Refusal('repetitionRunning'), 1])
  way.reply = undefined
  first.begin(() => undefined)
  const begun = follower()
  await begun.join()
  const running = begun.stream.run()
  await settle()
  way.reply = 'gone'
  first.add(bytes('lost'))
  await running
  expect([begun.answer.known, begun.answer.isBroken, begun.text()]).toEqual(['stream', true, ''])
})

test('one that was kept meanwhile is given whole', async () => {
  const { follower, way } = twoRelays()
  const one = follower()
  await one.join()
  way.reply = 'gone'
  way.found = { kind: 'used', isSame: true, requestId: 'req_first', answer: { head: HEAD, bytes: bytes('all of it') } }
  await one.stream.run()
  expect(one.answer.known).toMatchObject({ head: HEAD, bytes: bytes('all of it') })
})

test('a heartbeat may be sent where all that was written is here, and not behind a piece of it', async () => {
  const { first, follower, advance } = twoRelays()
  first.begin(() => bytes('beat'))
  first.add(bytes('one'))
  const one = follower()
  const joined = await one.join()
  const running = one.stream.run()
  await settle()
  expect(one.answer.heartbeat()).toBeUndefined()
  advance(1_100)
  await settle()
  expect(Buffer.from(one.answer.heartbeat() ?? []).toString()).toBe('beat')
  first.add(bytes('two'))
  await settle()
  expect(one.answer.heartbeat()).toBeUndefined()
  await leave(joined)
  first.finish(HEAD)
  await running
})

test('places of a relay that is not heard of any more are free, and its bytes', async () => {
  const { first, follower, there, way, advance, answers } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('one'))
  const one = follower()
  await one.join()
  one.stream.run().catch(() => undefined)
  await settle()
  way.reply = 'unavailable'
  first.drop()
  expect([there.count, first.isWaitedFor]).toEqual([1, true])
  advance(1_100)
  advance(16_000)
  expect([there.count, first.isWaitedFor, answers.bytes]).toEqual([0, false, 0])
})

test('who came while it was not known yet that the request runs elsewhere has a place there, too, and keeps it when another one leaves', async () => {
  const { first, follower, advance, asked } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('one '))
  const one = follower()
  const { stream } = one
  one.answer.elsewhere = undefined
  const early = await one.join()
  one.answer.elsewhere = stream
  const joined = await one.join()
  const running = stream.run()
  await settle()
  expect(asked.at(-1)).toMatchObject({ places: 2, at: 4 })
  await leave(joined)
  advance(1_100)
  await settle()
  first.add(bytes('two'))
  first.finish(HEAD)
  await running
  expect([one.text(), one.answer.isBroken]).toEqual(['one two', false])
  await leave(early)
  expect(first.isWaitedFor).toBe(false)
})

test('places count for all who wait at a relay: where the others take more than are free, the next one is refused', async () => {
  const { first, follower } = twoRelays()
  first.begin(() => undefined)
  for (let place = 0; place < 15; place++) first.join()
  const one = follower()
  const { stream } = one
  one.answer.elsewhere = undefined
  await one.join()
  one.answer.elsewhere = stream
  expect(await one.join()).toEqual(new Refusal('repetitionRunning'))
})

test('the name of those who wait gives no bytes of another key, header or body', async () => {
  const { first, there } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('theirs'))
  const ask = { follower: 'f', owner: 'relay_1', keyId: KEY.keyId, header: 'h', body: 'b', places: 1, at: undefined }
  expect((await there.tell(ask)).state).toEqual({ kind: 'places', places: 1 })
  for (const other of [{ keyId: 'key_2' }, { header: 'i' }, { body: 'c' }])
    expect((await there.tell({ ...ask, ...other, at: 0 })).state).toEqual({ kind: 'unknown' })
  expect((await there.tell({ ...ask, at: 0 })).state.kind).toBe('bytes')
})

test('bytes that are not those that were asked for break the stream off', async () => {
  const { first, follower, way } = twoRelays()
  first.begin(() => undefined)
  first.add(bytes('one'))
  const one = follower()
  await one.join()
  way.reply = { owner: 'relay_1', requestId: 'req_first', isStream: true, state: { kind: 'bytes', at: 3, bytes: bytes('two') } }
  const running = one.stream.run()
  await settle()
  expect([one.text(), one.answer.isBroken]).toEqual(['', true])
  await running
})

test('a claim that its relay knows nothing of is asked about for ten seconds at most', async () => {
  const { follower, way, advance } = twoRelays()
  const one = follower()
  await one.join()
  way.reply = 'gone'
  way.found = { kind: 'running', isSame: true }
  const running = one.stream.run()
  for (let ms = 0; ms < 11_000 && !one.answer.hasEnded; ms += 100) {
    advance(100)
    await settle()
  }
  expect([one.answer.hasEnded, one.answer.known]).toEqual([true, new Refusal('repetitionRunning')])
  await running
})

test('a bug on the way breaks the stream off, and does not end it as if it were whole', async () => {
  const { first, way, one, running } = await followed()
  const ended = running.catch((bug: unknown) => bug)
  way.hasBug = true
  first.add(bytes('two'))
  expect(await ended).toBeInstanceOf(Error)
  expect([one.text(), one.answer.hasEnded, one.answer.isBroken]).toEqual(['onetwo', true, true])
})
