/** One stream between a client and an upstream that the test moves: its heartbeats, stalls, ends and their races, on a clock that the test moves, too. */

import { expect, test } from 'bun:test'
import type { Limits } from '../../src/core/limits.ts'
import { picos } from '../../src/core/money.ts'
import { nothingSeen, type Observation } from '../../src/core/native/observation.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { TICK_MS } from '../../src/core/timer-wheel.ts'
import type { Transcoder } from '../../src/core/transcoder.ts'
import type { Settlement } from '../../src/ledger/ledger.ts'
import { ClientBody } from '../../src/relay/client-body.ts'
import { CallStop } from '../../src/relay/deadline.ts'
import { Exchange } from '../../src/relay/exchange.ts'
import { ClientStream } from '../../src/relay/stream.ts'
import { TIMINGS } from '../../src/relay/timings.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import type { World } from '../../src/world.ts'
import { makeTestModel, makeTestWorld } from '../support/world.ts'
import { sourceOf } from '../upstream/call.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value)

/** Passes bytes through; `!` is a bug, `#` begins the answer, `~` says nothing to the client, `$` states the final figures, `.` ends it. */
function plainTranscoder(): Transcoder {
  const observation: Observation = nothingSeen()
  return {
    observation,
    hears: () => undefined,
    push(chunk) {
      const said = text(chunk)
      if (said.includes('!')) throw new Error('a bug')
      observation.contentBytes += chunk.length
      if (said.startsWith('#')) {
        observation.hasStarted = true
        observation.reported = { ...observation.reported, input: 5, output: 1 }
      }
      if (said.startsWith('~')) return {}
      if (said.startsWith('$')) Object.assign(observation, { stopReason: 'end_turn', isOutputFinal: true })
      return said.endsWith('.') ? { now: chunk, last: bytes('END') } : { now: chunk }
    },
    end: () => ({ last: bytes('END') }),
    fail: (refusal) => bytes(`FAIL ${refusal.name}`),
    heartbeat: () => bytes('beat'),
  }
}

/** One stream on a clock, an upstream and a client's socket that the test moves. */
function makeStream(limits: Partial<Limits> = {}, kept?: { add(bytes: Uint8Array): void }, transcoder = plainTranscoder()) {
  const { world: still, advance, logLines } = makeTestWorld({ limits: { stallTimeoutMs: 1_000, writeStallMs: 5_000, ...limits } })
  const settled: Settlement[] = []
  const voided: string[] = []
  const drops: string[] = []
  let checkpointCount = 0
  let hasSaid = false
  const world: World = {
    ...still,
    ledger: {
      ...still.ledger,
      checkpoint: () => {
        checkpointCount++
      },
      settle: (settlement) => {
        settled.push(settlement)
        return Promise.resolve('settled')
      },
      void: (requestId) => {
        voided.push(requestId)
        return 'voided'
      },
    },
  }
  const calls: string[] = []
  const upstream = new PushedBody(sourceOf(calls))
  const ended: Outcome[] = []
  const call = new CallStop()
  const exchange = new Exchange(world, '/v1/messages', 'messages')
  let blameCount = 0
  exchange.calls.began({ upstream: 'primary', model: 'sonnet', startedAt: 0 })
  exchange.calls.answered(() => {
    blameCount++
  })
  const stream: ClientStream = new ClientStream({
    world,
    exchange,
    connection: {
      client: { ip: 'a' },
      origin: null,
      keepOpen: () => undefined,
      restore: () => undefined,
      drop: () => void drops.push('dropped'),
    },
    held: {
      key: {
        id: 'key_1',
        accountId: 'acc_1',
        name: '',
        display: '',
        plan: 'default',
        limitPicos: null,
        expiresAt: null,
        isActive: true,
        isAccountActive: true,
      },
      modelId: 'sonnet',
      isStream: true,
      sessionHash: new Uint8Array(32),
      bounds: {
        bodyBytes: 100,
        hasOpaqueInput: false,
        passes: 0,
        serverToolUsesMax: 0,
        cacheWrites: 'none',
        outputTokensMax: 100,
        bytesPerToken: 4,
        inputEstimate: 25,
      },
      prices: makeTestModel(),
      amountPicos: picos(1n),
    },
    transcoder,
    call,
    timings: { ...TIMINGS, leaverGraceMs: 0 },
    ...(kept && { kept }),
    onEnd: ({ outcome }) => ended.push(outcome),
  })
  stream.answered({ kind: 'reply', upstream: 'primary', isEventStream: true, dialect: 'strict', body: upstream })
  return {
    stream,
    settled,
    voided,
    drops,
    ended,
    logLines,
    wheel: world.wheel,
    checkpoints: () => checkpointCount,
    /** How often the upstream was told that its answer broke. */
    blames: () => blameCount,
    calls,
    call,
    say(said: string | Uint8Array) {
      hasSaid = true
      upstream.data(typeof said === 'string' ? bytes(said) : said)
    },
    endUpstream: () => upstream.end(),
    /** In two steps: the wheel calls a stream once a tick. */
    pass(ms: number) {
      advance(ms - TICK_MS)
      advance(TICK_MS)
    },
    /** Behind a status that waited as long as it may, where nothing was said yet. */
    attach() {
      if (!hasSaid) for (const ms of [TIMINGS.firstEventWaitMs, TICK_MS, TICK_MS]) advance(ms)
      return openClient(stream)
    },
  }
}

/** The client's socket: what it was given, and whether it is full. */
function openClient(stream: ClientStream) {
  const got: string[] = []
  const full: (() => void)[] = []
  let isFull = false
  const controller = {
    write(piece: Uint8Array): number | Promise<void> {
      got.push(text(piece))
      return isFull ? new Promise<void>((resolve) => full.push(resolve)) : piece.length
    },
    flush: () => undefined,
    close: (error?: Error) => void got.push(error === undefined ? 'CLOSED' : 'BROKEN OFF'),
  }
  stream.flow.opened(new ClientBody(controller, stream.flow))
  return {
    got,
    fill: () => {
      isFull = true
    },
    drain: async () => {
      isFull = false
      for (const resolve of full.splice(0)) resolve()
      await turn()
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what the upstream says is with the client in the same step, and what comes before its body is open waits', async () => {
  const { stream, say, calls, attach } = makeStream()
  expect(calls).toEqual(['resume'])
  say('#one')
  expect(await stream.first).toBe('begun')
  expect(calls).toEqual(['resume', 'pause'])
  say('two')
  const client = attach()
  expect([client.got, calls]).toEqual([
    ['#one', 'two'],
    ['resume', 'pause', 'pause', 'resume'],
  ])
  say('three')
  expect(client.got).toEqual(['#one', 'two', 'three'])
})

test('a large read goes to the client in order, and where its answer stands apart the memory of both goes back when that is with the client', () => {
  const read = (): Uint8Array => Uint8Array.from({ length: 200_000 }, (_, at) => 97 + (at % 26))
  const said = text(read())
  for (const givesItsOwn of [true, undefined] as const) {
    const given: Uint8Array[] = []
    const apart = (chunk: Uint8Array): { now: Uint8Array } => {
      given.push(chunk.slice())
      return { now: given.at(-1) ?? chunk }
    }
    const { say, attach } = makeStream({}, undefined, { ...plainTranscoder(), push: apart, ...(givesItsOwn && { givesItsOwn }) })
    const [first, second] = [read(), read()]
    say(first)
    expect(given.reduce((sum, { length }) => sum + length, 0)).toBe(200_000)
    const client = attach()
    say(second)
    expect(client.got.join('')).toBe(said + said)
    expect([first, second].map(({ length }) => length)).toEqual(givesItsOwn ? [0, 0] : [200_000, 200_000])
    expect(given.some(({ length }) => length > 16_384)).toBe(givesItsOwn === undefined)
  }
})

test('an answer that is kept goes on without its client, however slow that was, and is kept whole without our own bytes', async () => {
  for (const left of ['before its body was open', 'with a full socket']) {
    const kept: string[] = []
    const { stream, say, calls, attach, settled, pass } = makeStream({}, { add: (piece) => void kept.push(text(piece)) })
    say('#1')
    if (left === 'with a full socket') {
      const client = attach()
      client.fill()
      say('2')
    }
    expect(calls.at(-1), left).toBe('pause')
    stream.left()
    expect(calls.at(-1), left).toBe('resume')
    pass(TIMINGS.heartbeatIdleMs / 20)
    say('3.')
    await stream.whenEnded
    expect(kept.join('').replace('2', ''), left).toBe('#13.END')
    expect(settled.map(({ outcome }) => outcome)).toEqual(['complete'])
  }
})

test('an answer that is kept is not waited for longer because its client had left before its body was open', async () => {
  for (const left of ['before', 'behind']) {
    const { stream, say, pass, attach, settled } = makeStream({ stallTimeoutMs: 10_000 }, { add: () => undefined })
    const got = left === 'behind' ? attach().got : []
    say('#1')
    stream.left()
    expect(got).toEqual(left === 'behind' ? ['#1', 'BROKEN OFF'] : [])
    pass(10_100)
    await stream.whenEnded
    expect(settled, left).toMatchObject([{ outcome: 'fault', costPicos: 0n }])
  }
})

test('a full socket pauses the upstream once, and one that has taken everything lets it go on', async () => {
  const { say, calls, attach } = makeStream()
  const client = attach()
  say('#one')
  calls.splice(0)
  client.fill()
  say('two')
  say('three')
  expect([client.got, calls]).toEqual([['#one', 'two', 'three'], ['pause']])
  await client.drain()
  expect(calls).toEqual(['pause', 'resume'])
})

test('a stream that is over waits for no time any more, also where all of it came before its client was there or its upstream ended first', async () => {
  for (const endsFirst of [true, false]) {
    const { say, stream, ended, attach, pass, wheel, endUpstream } = makeStream()
    say('#one.')
    if (endsFirst) endUpstream()
    const client = attach()
    await stream.whenEnded
    await turn()
    expect([ended, client.got.at(-1)]).toEqual([['complete'], 'CLOSED'])
    pass(TIMINGS.leaverGraceMs + 1_000)
    expect(wheel.isEmpty).toBe(true)
  }
})

test('the upstream is not called silent for the time in which the client did not read', async () => {
  const { say, pass, ended, attach } = makeStream()
  const client = attach()
  client.fill()
  say('#one')
  for (let n = 0; n < 4; n++) pass(900)
  await client.drain()
  pass(950)
  await turn()
  expect([client.got, ended]).toEqual([['#one'], []])
  pass(70)
  await turn()
  expect([client.got, ended]).toEqual([['#one', 'FAIL timedOut', 'CLOSED'], ['fault']])
})

test('a client that takes nothing for the write limit is dropped as one that left, whatever its upstream does', async () => {
  const { stream, say, pass, ended, settled, drops, attach } = makeStream()
  const client = attach()
  client.fill()
  say('#one')
  pass(4_900)
  say('two')
  pass(4_950)
  await turn()
  expect(ended).toEqual([])
  pass(70)
  await stream.whenEnded
  expect([ended, settled.map(({ outcome }) => outcome), drops]).toEqual([['leaver'], ['leaver'], ['dropped']])
  expect(client.got).toEqual(['#one', 'two', 'BROKEN OFF'])
})

test('a client is kept alive once it has got nothing for the heartbeat limit', () => {
  const { say, pass, attach } = makeStream({ stallTimeoutMs: 60_000 })
  const client = attach()
  say('#one')
  pass(14_900)
  say('two')
  pass(14_900)
  expect(client.got).toEqual(['#one', 'two'])
  pass(200)
  expect(client.got).toEqual(['#one', 'two', 'beat'])
})

test('the heartbeat goes by what the client got, not by what the upstream sent or did not send', () => {
  const { say, pass, attach } = makeStream({ stallTimeoutMs: 60_000 })
  const client = attach()
  say('#one')
  // The upstream speaks all the time, and nothing of it is for the client.
  for (let n = 0; n < 4; n++) {
    pass(4_000)
    say('~ping')
  }
  expect(client.got).toEqual(['#one', 'beat'])
  // Silence of the upstream makes no second one before its time.
  pass(5_000)
  pass(9_000)
  expect(client.got).toEqual(['#one', 'beat'])
  pass(2_000)
  expect(client.got).toEqual(['#one', 'beat', 'beat'])
})

test('five seconds of silence after the final figures are the end of the answer, less are not, and a shorter stall limit is', async () => {
  for (const [stallTimeoutMs, limitMs] of [
    [60_000, 5_000],
    [1_000, 1_000],
  ] as const) {
    const { say, pass, ended, settled, attach } = makeStream({ stallTimeoutMs })
    const client = attach()
    say('#one')
    say('$figures')
    pass(limitMs - 100)
    await turn()
    expect([limitMs, ended]).toEqual([limitMs, []])
    pass(200)
    await turn()
    expect([client.got, ended]).toEqual([['#one', '$figures', 'END', 'CLOSED'], ['complete']])
    expect(settled).toMatchObject([{ outcome: 'complete' }])
  }
})

test('a progress checkpoint is left when the answer begins and every five seconds from then on, whether or not the upstream speaks', () => {
  const { say, pass, checkpoints, attach } = makeStream({ stallTimeoutMs: 60_000 })
  expect(attach().got).toEqual([])
  say('~before')
  pass(6_000)
  expect(checkpoints()).toBe(0)
  say('#one')
  say('two')
  expect(checkpoints()).toBe(1)
  pass(4_900)
  expect(checkpoints()).toBe(1)
  pass(200)
  expect(checkpoints()).toBe(2)
  pass(5_100)
  expect(checkpoints()).toBe(3)
})

test('a bug in a transcoder ends its stream, releases what it held, and stays in its stream', async () => {
  const early = makeStream()
  early.say('!')
  expect(await early.stream.first).toMatchObject({ name: 'internal' })
  expect([early.ended, early.voided.length, early.settled]).toEqual([['fault'], 1, []])
  const late = makeStream()
  const client = late.attach()
  late.say('#one')
  late.say('!')
  await turn()
  expect(client.got).toEqual(['#one', 'FAIL internal', 'CLOSED'])
  expect(late.settled).toMatchObject([{ outcome: 'fault', costPicos: 0n }])
  expect(late.logLines()).toContainEqual(
    expect.objectContaining({ alarm: 'a stream failed by a bug', error: 'Error', at: expect.stringMatching(/stream\.test\.ts:\d/) }),
  )
})

test('an answer that breaks off is its upstream’s failure, a bug of ours is not', async () => {
  for (const [breakOff, blames] of [
    [({ say }: ReturnType<typeof makeStream>) => say('!'), 0],
    [({ stream }: ReturnType<typeof makeStream>) => stream.broke(new Refusal('upstreamBroken'), 'reset'), 1],
    [({ pass }: ReturnType<typeof makeStream>) => pass(1_100), 1],
  ] as const) {
    const made = makeStream()
    const client = made.attach()
    made.say('#one')
    breakOff(made)
    await made.stream.whenEnded
    expect([made.ended, client.got.at(-1), made.blames()]).toEqual([['fault'], 'CLOSED', blames])
  }
})

test('a whole answer is read on until its connection is free, and let go where that takes too long', async () => {
  const { say, pass, calls, call, attach } = makeStream()
  expect(attach().got).toEqual([])
  say('#one.')
  await turn()
  expect([calls.includes('cancel'), call.isStopped]).toEqual([false, false])
  pass(20)
  expect([calls.at(-1), call.reason]).toEqual(['cancel', 'done'])
})

test('however many ends race, the stream is settled once and its client sees one end', async () => {
  for (let seed = 0; seed < 64; seed++) {
    const { stream, say, ended, settled, voided, attach } = makeStream()
    const client = attach()
    say('#one')
    const racers: (() => unknown)[] = [
      () => say('two.'),
      () => stream.left(),
      () => stream.stop('disabled'),
      () => stream.stop('drain'),
      () => stream.failed(new Error('a bug')),
      () => stream.flow.broken(),
    ]
    for (let bit = 0; bit < racers.length; bit++) {
      if ((seed & (1 << bit)) !== 0) racers[(bit + seed) % racers.length]?.()
      if (seed % 3 === 0) await Promise.resolve()
    }
    await stream.stop('drain')
    await turn()
    expect([seed, ended.length, settled.length + voided.length]).toEqual([seed, 1, 1])
    expect([seed, client.got.filter((said) => said === 'CLOSED' || said === 'BROKEN OFF').length]).toEqual([seed, 1])
    expect([seed, client.got.filter((said) => /END|FAIL/.test(said)).length]).toEqual([seed, client.got.includes('CLOSED') ? 1 : 0])
  }
})
