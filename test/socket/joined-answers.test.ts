/** A request that is sent again while it runs takes part in its answer: one call, one charge, and no client waits for another. Rules: requests.md "Joined answers". */

import { afterAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { RunningAnswer } from '../../src/relay/running-answer.ts'
import { errorAnswer, MESSAGE, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { connectRaw, type RawConnection, rawRequest } from '../support/raw-client.ts'
import { FORMATS, question, startStage } from '../support/stage.ts'
import { until } from '../support/until.ts'

const stage = await startStage({ limits: { concurrentRequests: 2 } })
const { upstream, play, receiptsOf, gateway, secret } = stage
afterAll(() => stage.stop())

const [START = '', ...REST] = textFrames('Good morning')
let runs = 0
let header = ''
beforeEach(() => {
  header = `join-${++runs}`
})

type Asked = Parameters<typeof question>[0]
const ask = (asked: Asked, more: Record<string, string> = {}): Promise<Response> =>
  stage.ask(asked, {
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': header, ...more },
  })
/** Resolves when the upstream has the call of a first request. */
async function called(act: () => Promise<Response>): Promise<Readonly<{ first: Promise<Response> }>> {
  const calls = upstream.requests.length
  const first = act()
  await until(() => upstream.requests.length > calls, 'the call of the first request')
  return { first }
}
const afterOpening = (text: string): string => text.replace(/^: ok\n\n/, '')
const joinedOf = (answer: Response) => [answer.status, answer.headers.get('idempotency-replayed'), answer.headers.get('x-request-id')]

describe('a repetition of a request that runs', () => {
  for (const format of FORMATS) {
    for (const stream of [true, false]) {
      test(`${format}, ${stream ? 'a stream' : 'one piece'}: the same bytes and id, one call and one charge`, async () => {
        const gate = Promise.withResolvers<void>()
        const script = nativeMessage(MESSAGE)
        play(stream ? nativeStream(START, REST[0] ?? '', { when: gate.promise }, ...REST.slice(1)) : [{ when: gate.promise }, ...script])
        const calls = upstream.requests.length
        const receipts = await receiptsOf(async () => {
          const { first } = await called(() => ask({ format, stream }))
          // More than may run at once.
          using joined = spyOn(RunningAnswer.prototype, 'shown')
          const others = Array.from({ length: 5 }, () => ask({ format, stream }))
          if (stream) expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
          await until(() => joined.mock.calls.length === 5, 'all have joined').finally(gate.resolve)
          const answer = await first
          const bytes = afterOpening(await answer.text())
          for (const other of await Promise.all(others)) {
            expect(afterOpening(await other.text())).toBe(bytes)
            expect(joinedOf(other)).toEqual([200, 'true', answer.headers.get('x-request-id')])
            expect(other.headers.get('content-type')).toBe(answer.headers.get('content-type'))
            expect(other.headers.get('x-cost-usd')).toBe('0.000000')
            expect(other.headers.get('x-balance-usd')).toMatch(/^\d+(\.\d+)?$/)
          }
        })
        expect(receipts).toHaveLength(1)
        expect(upstream.requests.length - calls).toBe(1)
        expect(gateway.logLines().filter((line) => line['replay_of'] === receipts[0]?.requestId)).toHaveLength(5)
      })
    }
  }
})

test('a stream is sent from its first byte, then as it comes', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  play(
    nativeStream(START, ...REST.slice(0, 2), { when: gates[0].promise }, ...REST.slice(2, 3), { when: gates[1].promise }, ...REST.slice(3)),
  )
  const first = await ask({ stream: true })
  const second = await ask({ stream: true })
  const reader = (second.body as ReadableStream<Uint8Array>).getReader()
  let text = ''
  const until = async (part: string): Promise<void> => {
    for (;;) {
      if (text.includes(part)) return
      const { value, done } = await reader.read()
      if (done) throw new Error(`ended without ${part}: ${text}`)
      text += new TextDecoder().decode(value)
    }
  }
  await until('message_start')
  await until('content_block_delta')
  expect(text).not.toContain('content_block_stop')
  gates[0].resolve()
  await until('content_block_stop')
  expect(text).not.toContain('message_stop')
  gates[1].resolve()
  await until('message_stop')
  expect((await reader.read()).done).toBe(true)
  expect(afterOpening(text)).toBe(afterOpening(await first.text()))
  await gateway.idle()
})

test('the first one leaves: who joined has the whole answer, and it is charged in full', async () => {
  const gate = Promise.withResolvers<void>()
  play(nativeStream(START, REST[0] ?? '', { when: gate.promise }, ...REST.slice(1)))
  const [receipt, ...more] = await receiptsOf(async () => {
    const first = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    await first.until((received) => Buffer.from(received).includes('message_start'))
    const second = await ask({ stream: true })
    first.reset()
    gate.resolve()
    expect(await second.text()).toContain('message_stop')
  })
  expect(more).toEqual([])
  expect(receipt).toMatchObject({ outcome: 'complete', basis: 'final' })
})

test('an error before the answer is the answer of all who joined, once; then the header is free', async () => {
  for (const stream of [true, false]) {
    header = `${header}-${stream}`
    const gate = Promise.withResolvers<void>()
    play([{ when: gate.promise }, ...errorAnswer(500, {})])
    const { first } = await called(() => ask({ stream }))
    using joined = spyOn(RunningAnswer.prototype, 'shown')
    const others = [ask({ stream }), ask({ stream })]
    await until(() => joined.mock.calls.length === 2, 'both have joined').finally(gate.resolve)
    const { status, headers } = await first
    expect(status).toBe(502)
    for (const other of await Promise.all(others)) {
      expect(joinedOf(other)).toEqual([502, 'true', headers.get('x-request-id')])
      expect(await other.json()).toMatchObject({ type: 'error', error: { type: 'server_error' } })
    }
    play(stream ? nativeStream(START, ...REST) : nativeMessage(MESSAGE))
    const again = await ask({ stream })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null])
    await again.text()
  }
  await gateway.idle()
})

test('an error in the middle of a stream ends it for all who joined', async () => {
  const gate = Promise.withResolvers<void>()
  play([...nativeStream(START, ...REST.slice(0, 2)).slice(0, 4), { when: gate.promise }, { reset: true }])
  const first = await ask({ stream: true })
  const second = await ask({ stream: true })
  gate.resolve()
  const told = afterOpening(await first.text())
  expect(told).toContain('event: error')
  expect(afterOpening(await second.text())).toBe(told)
  await gateway.idle()
})

test('what is refused before the call refuses those who joined as well', async () => {
  const [first, second] = await Promise.all([ask({ model: 'nobody' }), ask({ model: 'nobody' })])
  for (const answer of [first, second]) expect(await answer?.text()).toContain('Model nobody is not available')
})

test('it needs no place of its own: it joins where its key may have no more at once', async () => {
  const narrow = await startStage({ limits: { concurrentRequests: 1 } })
  const gate = Promise.withResolvers<void>()
  try {
    narrow.play(nativeStream(START, { when: gate.promise }, ...REST))
    const headers = { authorization: `Bearer ${narrow.secret}`, 'idempotency-key': header }
    const first = await narrow.ask({ stream: true }, { headers })
    const second = await narrow.ask({ stream: true }, { headers })
    expect(second.status).toBe(200)
    expect((await narrow.ask({ stream: true }, { headers: { ...headers, 'idempotency-key': 'another' } })).status).toBe(429)
    gate.resolve()
    for (const answer of [first, second]) expect(await answer.text()).toContain('message_stop')
  } finally {
    gate.resolve()
    await narrow.stop()
  }
})

test('sixteen take part, each has a place again when it has left, and one more is 429', async () => {
  const gate = Promise.withResolvers<void>()
  play(nativeStream(START, { when: gate.promise }, ...REST))
  const first = await ask({ stream: true })
  const joined = await Promise.all(Array.from({ length: 16 }, () => ask({ stream: true })))
  expect(new Set(joined.map(({ status }) => status))).toEqual(new Set([200]))
  const late = await ask({ stream: true })
  expect([late.status, late.headers.get('retry-after')]).toEqual([429, '1'])
  await joined[0]?.body?.cancel()
  let again = await ask({ stream: true })
  await until(async () => {
    if (again.status === 429) again = await ask({ stream: true })
    return again.status !== 429
  }, 'a place is free')
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  gate.resolve()
  for (const answer of [first, again, ...joined.slice(1)]) expect(await answer.text()).toContain('message_stop')
  await gateway.idle()
})

const isWhole = (received: Uint8Array): boolean => Buffer.from(received.subarray(-400)).includes('message_stop')

test('one that takes nothing keeps nobody waiting, and has the whole answer when it takes it', async () => {
  const gate = Promise.withResolvers<void>()
  const long = textFrames('x'.repeat(5_000_000))
  play(nativeStream(long[0] ?? '', { when: gate.promise }, ...long.slice(1)))
  const [receipt] = await receiptsOf(async () => {
    const first = await ask({ stream: true })
    const slow: RawConnection = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    await slow.until((received) => Buffer.from(received).includes('message_start'))
    slow.pause()
    gate.resolve()
    const bytes = afterOpening(await first.text())
    expect(bytes).toContain('message_stop')
    slow.resume()
    await slow.until(isWhole, 20_000)
    const { text } = await slow.response()
    expect(afterOpening(text) === bytes).toBe(true)
  })
  expect(receipt?.outcome).toBe('complete')
})

test('an answer that outgrows its room breaks off who is behind, and takes in nobody more', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const piece = (text: string) => textFrames(text)[2] ?? ''
  const [start = '', open = '', , ...end] = textFrames('x')
  play(
    nativeStream(
      start,
      open,
      { when: gates[0].promise },
      ...Array.from({ length: 9 }, () => piece('y'.repeat(1_000_000))),
      piece('DONE'),
      { when: gates[1].promise },
      ...end,
    ),
  )
  const [receipt] = await receiptsOf(async () => {
    const first = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    const hasBegun = (received: Uint8Array): boolean => Buffer.from(received).includes('content_block_start')
    await first.until(hasBegun)
    const slow = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    await slow.until(hasBegun)
    slow.pause()
    gates[0].resolve()
    await first.until((received) => Buffer.from(received.subarray(-2_000)).includes('DONE'), 20_000)
    const late = await ask({ stream: true })
    expect(late.status).toBe(429)
    gates[1].resolve()
    await first.until(isWhole)
    slow.resume()
    await slow.closed
    expect(isWhole(slow.received())).toBe(false)
  })
  expect(receipt?.outcome).toBe('complete')
})

/** A repetition whose head is there while its body is still on its way. */
async function halfSent(): Promise<Readonly<{ statusOf: () => Promise<string> }>> {
  const { path, body } = question({ stream: true })
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': header }
  const whole = rawRequest('POST', path, headers, JSON.stringify(body))
  const raw = await connectRaw(gateway.url)
  await raw.send(whole.slice(0, -5))
  // What comes behind it has its turn behind it.
  await (await fetch(`${gateway.url}/v1/models`, { headers })).text()
  const statusOf = async (): Promise<string> => {
    await raw.send(whole.slice(-5))
    return Buffer.from(await raw.until((received) => received.includes(0x0a)))
      .toString('latin1')
      .slice(9, 12)
  }
  return { statusOf }
}

test('a place that was taken while the body came is of the answer that ran then, and of no other', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  play([{ when: gates[0].promise }, ...errorAnswer(500, {})])
  const { first } = await called(() => ask({ stream: true }))
  const late = await halfSent()
  gates[0].resolve()
  expect((await first).status).toBe(502)
  play(nativeStream(START, { when: gates[1].promise }, ...REST))
  const again = await ask({ stream: true })
  const joined = await Promise.all(Array.from({ length: 16 }, () => ask({ stream: true })))
  expect(await late.statusOf()).toBe('429')
  gates[1].resolve()
  for (const answer of [again, ...joined]) expect(await answer.text()).toContain('message_stop')
  await gateway.idle()
})

test('what has outgrown its room while the body of a repetition came is 429, not a stream that breaks off', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const [start = '', open = '', , ...end] = textFrames('x')
  const large = Array.from({ length: 9 }, () => textFrames('y'.repeat(1_000_000))[2] ?? '')
  const done = textFrames('DONE')[2] ?? ''
  play(nativeStream(start, open, { when: gates[0].promise }, ...large, done, { when: gates[1].promise }, ...end))
  const first = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
  await first.until((received) => Buffer.from(received).includes('content_block_start'))
  const late = await halfSent()
  gates[0].resolve()
  await first.until((received) => Buffer.from(received.subarray(-2_000)).includes('DONE'))
  expect(await late.statusOf()).toBe('429')
  gates[1].resolve()
  await first.until(isWhole)
  await gateway.idle()
})
