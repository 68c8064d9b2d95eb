/** An upstream's trouble is not the client's as long as another one can answer, and every call that was made is on record. Rules: pool.md "Failover". */

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import {
  EVENT_STREAM,
  errorAnswer,
  type FakeUpstream,
  frame,
  head,
  type Move,
  nativeMessage,
  nativeStream,
  type Script,
  startFakeUpstream,
  textFrames,
} from '../support/fake-upstream.ts'
import { FORMATS, startStage } from '../support/stage.ts'
import { transportOfTests } from '../support/transport.ts'
import { until } from '../support/until.ts'

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
const MESSAGE = {
  id: 'msg_second',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 3 },
}

/** What the first upstream does, and what is said of that call; `unsent`: nothing of the request had left. */
const TROUBLES: Readonly<Record<string, Readonly<{ moves: Script; status: number | null; cause: string; only?: 'stream' | 'whole' }>>> = {
  'an overload': { moves: errorAnswer(529, OVERLOADED), status: 529, cause: 'status 529' },
  'a rate limit': { moves: errorAnswer(429, OVERLOADED, { 'retry-after': '30' }), status: 429, cause: 'status 429' },
  'a failure': { moves: errorAnswer(500, OVERLOADED), status: 500, cause: 'status 500' },
  'a refused key': { moves: errorAnswer(401, OVERLOADED), status: 401, cause: 'status 401' },
  'a model that it does not have': { moves: errorAnswer(404, OVERLOADED), status: 404, cause: 'status 404' },
  'no credit': {
    moves: errorAnswer(400, { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low' } }),
    status: 400,
    cause: 'status 400',
  },
  'a reset': { moves: [{ reset: true }], status: null, cause: 'reset' },
  'a page': {
    moves: [head(200, { 'content-type': 'text/html', 'content-length': '2' }), { bytes: '<p' }],
    status: 200,
    cause: 'content-type',
  },
  'an empty stream': { moves: nativeStream(), status: 200, cause: 'empty', only: 'stream' },
  'an error as first event': { moves: nativeStream(frame('error', OVERLOADED)), status: 200, cause: 'stream', only: 'stream' },
  'a stream that breaks before its first event': {
    moves: [head(200, { ...EVENT_STREAM, 'transfer-encoding': 'chunked' }), { bytes: '5\r\nevent' }, { delayMs: 50 }, { reset: true }],
    status: 200,
    cause: 'reset',
    only: 'stream',
  },
  'an answer that is no message': { moves: nativeMessage({ type: 'other' }), status: 200, cause: 'malformed', only: 'whole' },
}
const NAMES = Object.keys(TROUBLES)

/** Bun's client does not tell a fresh connection from a kept one: what breaks at once is sent once more. */
const callsOf = (status: number | null): number => (status === null && transportOfTests() === 'fetch' ? 2 : 1)
/** Long enough for what was sent before to have been read: a reset takes along what has not. */
const READ: Move = { delayMs: 50 }

let second: FakeUpstream
let secondScript: Script = []
second = await startFakeUpstream({ answer: () => secondScript })
const models = NAMES.map((name) => ({
  id: `model of ${name}`.replaceAll(' ', '-'),
  // An id of its own for each, since the breaker of one must not be that of the next.
  upstreams: [
    { name: 'upstream-0', model: 'vendor-sonnet-1' },
    { name: 'upstream-1', model: `second of ${name}`.replaceAll(' ', '-') },
  ],
}))
const stages = await Promise.all(NAMES.map((_, index) => startStage({ upstreams: [second.url], models: [{}, models[index] ?? {}] })))
afterAll(async () => {
  await Promise.all(stages.map((stage) => stage.stop()))
  second.stop()
})
beforeEach(() => {
  secondScript = []
})

describe('the next upstream answers after', () => {
  for (const [index, [name, { moves, status, cause, only }]] of Object.entries(TROUBLES).entries()) {
    test(name, async () => {
      const stage = stages[index]
      if (stage === undefined) throw new Error('no stage')
      stage.play(moves)
      for (const [turn, stream] of (only === undefined ? [true, false] : [only === 'stream']).entries()) {
        secondScript = stream ? nativeStream(...textFrames('Good morning')) : nativeMessage(MESSAGE, { 'request-id': 'req_second' })
        const before = stage.upstream.requests.length
        const answer = await stage.ask({ format: FORMATS[index % 3] ?? 'messages', stream, model: models[index]?.id ?? '' })
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('Good morning')])
        const receipt = await stage.receiptOf(answer)
        expect(second.requests.at(-1)?.json()).toMatchObject({ model: models[index]?.upstreams[1]?.model })
        // A second request finds the first upstream out where one failure is enough to know.
        const asked = stage.upstream.requests.length - before
        if (turn === 0) expect(asked).toBe(callsOf(status))
        expect(receipt).toMatchObject({
          attempts: 1 + asked,
          outcome: 'complete',
          upstream: { name: 'upstream-1' },
          upstreamMessageId: stream ? expect.any(String) : 'msg_second',
          upstreamRequestId: stream ? null : 'req_second',
        })
        const attempts = stage.gateway.attempts().filter(({ requestId }) => requestId === receipt?.requestId)
        expect(attempts).toHaveLength(asked)
        if (asked > 0) expect(attempts.at(-1)).toMatchObject({ attempt: asked, upstream: 'upstream-0', status, cause, basis: 'none' })
        expect(stage.gateway.logLines().at(-1)).toMatchObject({
          status: 200,
          upstream: 'upstream-1',
          ...(asked > 0 ? { attempts: asked + 1 } : {}),
        })
      }
      const metrics = await stage.gateway.world.metrics.render()
      expect(metrics).toContain(`tollgate_upstream_attempts_total{upstream="upstream-0",result="${cause}"} `)
      expect(metrics).toContain('tollgate_upstream_retries_total{how="retried"} ')
    })
  }
})

test('what a customer did wrong, and a stream that has begun, are not tried elsewhere', async () => {
  await using stage = await startStage({ upstreams: [second.url] })
  secondScript = nativeStream(...textFrames('Good morning'))
  const before = second.requests.length
  stage.play(errorAnswer(400, { type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: too many' } }))
  expect((await stage.ask({ stream: true })).status).toBe(400)
  const [start = '', block = ''] = textFrames('Good evening')
  stage.play([...nativeStream(start, block).slice(0, 3), READ, { reset: true }])
  const broken = await stage.ask({ stream: true })
  expect(await broken.text()).toContain('event: error')
  expect(second.requests).toHaveLength(before)
  expect(await stage.receiptOf(broken)).toMatchObject({ outcome: 'fault', attempts: 1, costPicos: 0n, upstream: { name: 'upstream-0' } })
})

test('where nobody answers the last fault is told, nothing is charged, and what may have cost us money is on record', async () => {
  await using stage = await startStage({ upstreams: [second.url, 'http://127.0.0.1:1'] })
  stage.play([{ reset: true }])
  secondScript = nativeMessage({ type: 'other' })
  const answer = await stage.ask({ stream: false })
  expect(answer.status).toBe(502)
  expect(await stage.receiptOf(answer)).toBeUndefined()
  // Nobody waits for them to be written.
  const calls = callsOf(null)
  await until(() => stage.gateway.attempts().length === calls + 1, 'the attempts')
  expect(stage.gateway.attempts().slice(-2)).toMatchObject([
    { attempt: calls, upstream: 'upstream-0', status: null, cause: 'reset' },
    { attempt: calls + 1, upstream: 'upstream-1', status: 200, cause: 'malformed' },
  ])
  expect(await stage.gateway.world.metrics.render()).toContain('tollgate_upstream_breaker{upstream="upstream-2",model="vendor-sonnet-1"} 1')
})

test('an answer that is too deep to be handed on is not bought a second time, and what it cost is on record', async () => {
  await using stage = await startStage({ upstreams: [second.url] })
  const deep = `${'['.repeat(200)}${']'.repeat(200)}`
  const usage = { input_tokens: 100_000, output_tokens: 60_000 }
  const text = JSON.stringify({ ...MESSAGE, content: [{ type: 'tool_use', id: 't', name: 'f', input: 'DEEP' }], usage }).replace(
    '"DEEP"',
    deep,
  )
  stage.play([head(200, { 'content-type': 'application/json', 'content-length': String(text.length) }), { bytes: text }])
  const before = second.requests.length
  const answer = await stage.ask({ stream: false })
  expect(answer.status).toBe(502)
  await until(() => stage.gateway.attempts().length > 0, 'the attempt')
  expect(second.requests).toHaveLength(before)
  expect(stage.gateway.attempts()).toMatchObject([{ cause: 'malformed', basis: 'final', inputTokens: 100_000, outputTokens: 60_000 }])
})

test('nobody else is asked for a client that has left, unless its answer is kept for it', async () => {
  await using stage = await startStage({ upstreams: [second.url] })
  secondScript = nativeStream(...textFrames('Good morning'))
  for (const header of [undefined, 'again']) {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    stage.play([{ when: gate }, ...errorAnswer(500, {})])
    const before = second.requests.length
    const arrived = stage.upstream.requests.length
    const connection = await stage.askRaw({ stream: true }, header === undefined ? {} : { 'idempotency-key': header })
    await stage.upstream.arrival(arrived)
    connection.reset()
    await Bun.sleep(50)
    open()
    await stage.gateway.idle()
    expect(second.requests.length - before).toBe(header === undefined ? 0 : 1)
  }
})

test('what one request names and the upstream has not is failed over, and takes the upstream from nobody', async () => {
  await using stage = await startStage({ upstreams: [second.url] })
  secondScript = nativeStream(...textFrames('Good morning'))
  stage.play(errorAnswer(404, { type: 'error', error: { type: 'not_found_error', message: 'file_1 not found' } }))
  const first = await stage.ask({ stream: true })
  expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('message_stop')])
  stage.play(nativeStream(...textFrames('Good evening')))
  expect(await (await stage.ask({ stream: true })).text()).toContain('Good evening')
  await stage.gateway.idle()
  expect(stage.gateway.receipts().map(({ upstream }) => upstream?.name)).toEqual(['upstream-1', 'upstream-0'])
})
