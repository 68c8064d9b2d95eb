/** One stream between a client and an upstream that the test moves: its heartbeats, stalls, ends and their races, on a clock that the test moves, too. */

import { expect, test } from 'bun:test'
import type { Limits } from '../../src/core/limits.ts'
import { picos } from '../../src/core/money.ts'
import { nothingSeen, type Observation } from '../../src/core/native/observation.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Transcoder } from '../../src/core/transcoder.ts'
import type { Settlement } from '../../src/ledger/ledger.ts'
import { Deadline } from '../../src/relay/deadline.ts'
import { Exchange } from '../../src/relay/exchange.ts'
import { ClientStream } from '../../src/relay/stream.ts'
import { TIMINGS } from '../../src/relay/timings.ts'
import { PulledBody } from '../../src/upstream/pulled-body.ts'
import type { World } from '../../src/world.ts'
import { makeTestModel, makeTestWorld } from '../support/world.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value)

/** Passes bytes through; `!` is a bug, `#` begins the answer, `~` says nothing to the client, `$` states the final figures, `.` ends it. */
function plainTranscoder(): Transcoder {
  const observation: Observation = nothingSeen()
  return {
    observation,
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

/** One stream on a clock and an upstream that the test moves; nothing is read before `read` asks for it. */
function makeStream(limits: Partial<Limits> = {}) {
  const { world: still, advance, logLines } = makeTestWorld({ limits: { stallTimeoutMs: 1_000, writeStallMs: 5_000, ...limits } })
  const settled: Settlement[] = []
  const voided: string[] = []
  const drops: string[] = []
  const world: World = {
    ...still,
    ledger: {
      ...still.ledger,
      mark: () => undefined,
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
  const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, undefined, { highWaterMark: 0 })
  const upstream = writable.getWriter()
  const ended: Outcome[] = []
  const deadline = new Deadline(world, 60_000, () => stream.onStop())
  const stream: ClientStream = new ClientStream({
    world,
    exchange: new Exchange(world, '/v1/messages', 'messages'),
    connection: { client: 'a', origin: null, keepOpen: () => undefined, restore: () => undefined, drop: () => void drops.push('dropped') },
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
      upstreamModel: 'vendor-sonnet-1',
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
      },
      rates: makeTestModel().rates,
      amountPicos: picos(1n),
    },
    transcoder: plainTranscoder(),
    isFailing: () => false,
    opening: Promise.resolve({ kind: 'reply', upstream: 'primary', isEventStream: true, body: new PulledBody(body) }),
    deadline,
    timings: { ...TIMINGS, leaverGraceMs: 0 },
    onEnd: (outcome) => ended.push(outcome),
  })
  return {
    stream,
    settled,
    voided,
    drops,
    ended,
    logLines,
    /** Ignored by a stream that has let the upstream go. */
    say: (said: string): void => void upstream.write(bytes(said)).catch(() => undefined),
    /** Time passes, and the pulse is felt. */
    pass(ms: number) {
      advance(ms)
      stream.pulse(world.clock.monotonicMs())
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('the upstream is not called silent for the time in which the client did not read', async () => {
  const { stream, say, pass, ended } = makeStream()
  say('#one')
  expect(await stream.first(1_000)).toBe('begun')
  const reader = stream.body(undefined).getReader()
  await turn()
  for (let n = 0; n < 4; n++) pass(900)
  expect(text((await reader.read()).value)).toBe('#one')
  await turn()
  pass(0)
  say('two')
  expect(text((await reader.read()).value)).toBe('two')
  await turn()
  pass(900)
  expect(ended).toEqual([])
  pass(200)
  expect(text((await reader.read()).value)).toBe('FAIL timedOut')
  expect([await reader.read(), ended]).toMatchObject([{ done: true }, ['fault']])
})

test('a client that takes nothing for the write limit is dropped as one that left, whatever its upstream does', async () => {
  const { stream, say, pass, ended, settled, drops } = makeStream()
  say('#one')
  await stream.first(1_000)
  const reader = stream.body(undefined).getReader()
  await turn()
  pass(4_900)
  expect(ended).toEqual([])
  pass(200)
  await stream.whenEnded
  expect([ended, settled.map(({ outcome }) => outcome), drops]).toEqual([['leaver'], ['leaver'], ['dropped']])
  expect(
    await reader.read().then(
      () => reader.read(),
      () => 'broken off',
    ),
  ).toBe('broken off')
})

test('a client is kept alive once it has got nothing for the heartbeat limit', async () => {
  const { stream, say, pass } = makeStream({ stallTimeoutMs: 60_000 })
  say('#one')
  await stream.first(1_000)
  const reader = stream.body(undefined).getReader()
  expect(text((await reader.read()).value)).toBe('#one')
  await turn()
  pass(14_900)
  say('two')
  expect(text((await reader.read()).value)).toBe('two')
  await turn()
  pass(14_900)
  const next = reader.read()
  pass(200)
  expect(text((await next).value)).toBe('beat')
  await stream.leave()
})

test('the heartbeat goes by what the client got, not by what the upstream sent or did not send', async () => {
  const { stream, say, pass } = makeStream({ stallTimeoutMs: 60_000 })
  say('#one')
  await stream.first(1_000)
  const reader = stream.body(undefined).getReader()
  expect(text((await reader.read()).value)).toBe('#one')
  const got: string[] = []
  const listen = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) got.push(text(read.value))
  }
  const listening = listen().catch(() => undefined)
  // The upstream speaks all the time, and nothing of it is for the client.
  for (let n = 0; n < 4; n++) {
    await turn()
    pass(4_000)
    say('~ping')
  }
  await turn()
  expect(got).toEqual(['beat'])
  // Silence of the upstream makes no second one before its time.
  pass(5_000)
  pass(9_000)
  await turn()
  expect(got).toEqual(['beat'])
  pass(2_000)
  await turn()
  expect(got).toEqual(['beat', 'beat'])
  await stream.leave()
  await listening
})

test('five seconds of silence after the final figures are the end of the answer, less are not, and a shorter stall limit is', async () => {
  for (const [stallTimeoutMs, limitMs] of [
    [60_000, 5_000],
    [1_000, 1_000],
  ] as const) {
    const { stream, say, pass, ended, settled } = makeStream({ stallTimeoutMs })
    say('#one')
    await stream.first(1_000)
    const reader = stream.body(undefined).getReader()
    expect(text((await reader.read()).value)).toBe('#one')
    say('$figures')
    expect(text((await reader.read()).value)).toBe('$figures')
    await turn()
    pass(limitMs - 100)
    await turn()
    expect([limitMs, ended]).toEqual([limitMs, []])
    let last = ''
    const next = reader.read().then(({ value }) => {
      last = text(value)
    })
    pass(200)
    for (let n = 0; n < 3; n++) await turn()
    expect([last, ended]).toEqual(['END', ['complete']])
    await next
    expect([await reader.read(), settled]).toMatchObject([{ done: true }, [{ outcome: 'complete' }]])
  }
})

test('a bug in a transcoder ends its stream, releases what it held, and stays in its stream', async () => {
  const early = makeStream()
  early.say('!')
  expect(await early.stream.first(1_000)).toMatchObject({ name: 'internal' })
  expect([early.ended, early.voided.length, early.settled]).toEqual([['fault'], 1, []])
  const late = makeStream()
  late.say('#one')
  await late.stream.first(1_000)
  const reader = late.stream.body(undefined).getReader()
  expect(text((await reader.read()).value)).toBe('#one')
  late.say('!')
  expect(text((await reader.read()).value)).toBe('FAIL internal')
  expect(await reader.read()).toMatchObject({ done: true })
  expect(late.settled).toMatchObject([{ outcome: 'fault', costPicos: 0n }])
  expect(late.logLines()).toContainEqual(
    expect.objectContaining({ alarm: 'a stream failed by a bug', error: 'Error', at: expect.stringMatching(/stream\.test\.ts:\d/) }),
  )
})

test('however many ends race, the stream is settled once', async () => {
  for (let seed = 0; seed < 64; seed++) {
    const { stream, say, ended, settled, voided } = makeStream()
    say('#one')
    await stream.first(1_000)
    const reader = stream.body(undefined).getReader()
    const racers: (() => unknown)[] = [
      () => say('two.'),
      () => stream.leave(),
      () => stream.stop('disabled'),
      () => stream.stop('drain'),
      () => reader.read().catch(() => undefined),
      () => reader.cancel().catch(() => undefined),
    ]
    const started: unknown[] = []
    for (let bit = 0; bit < racers.length; bit++) {
      const racer = racers[(bit + seed) % racers.length]
      if (racer !== undefined && (seed & (1 << bit)) !== 0) started.push(racer())
      if (seed % 3 === 0) await Promise.resolve()
    }
    started.push(stream.stop('drain'))
    await Promise.all(started)
    expect([seed, ended.length, settled.length + voided.length]).toEqual([seed, 1, 1])
  }
})
