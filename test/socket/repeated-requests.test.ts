/** A request that is sent again under its Idempotency-Key is answered again, and never generated or charged twice. Rules: requests.md "Repeated requests". */

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { errorAnswer, MESSAGE, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { startTestGateway } from '../support/gateway.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'
import { FORMATS, question, startStage } from '../support/stage.ts'
import { untilStill } from '../support/until.ts'

const stage = await startStage()
const { upstream, play, receiptsOf, gateway, secret } = stage
afterAll(() => stage.stop())

const [START = '', ...REST] = textFrames('Good morning')
let runs = 0
let header = ''
beforeEach(() => {
  header = `order-${++runs}`
})

type Asked = Parameters<typeof question>[0]
const headers = (key = header): Record<string, string> => ({
  authorization: `Bearer ${secret}`,
  'content-type': 'application/json',
  'idempotency-key': key,
})
const ask = (asked: Asked, key?: string): Promise<Response> => stage.ask(asked, { headers: headers(key) })

describe('the same request again', () => {
  for (const format of FORMATS) {
    for (const stream of [true, false]) {
      test(`${format}, ${stream ? 'a stream' : 'one piece'}: the same bytes and id, no call and no charge`, async () => {
        play(stream ? nativeStream(START, ...REST) : nativeMessage(MESSAGE))
        const calls = upstream.requests.length
        const receipts = await receiptsOf(async () => {
          const first = await ask({ format, stream })
          const bytes = await first.text()
          await gateway.idle()
          for (let again = 0; again < 3; again++) {
            const answer = await ask({ format, stream })
            expect(await answer.text()).toBe(bytes.replace(/^: ok\n\n/, ''))
            expect(answer.headers.get('idempotency-replayed')).toBe('true')
            expect(answer.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
            expect(answer.headers.get('content-type')).toBe(first.headers.get('content-type'))
          }
          expect(first.headers.get('idempotency-replayed')).toBeNull()
          expect(gateway.logLines().at(-1)).toMatchObject({ status: 200, replay_of: first.headers.get('x-request-id') })
        })
        expect(receipts).toHaveLength(1)
        expect(upstream.requests.length - calls).toBe(1)
      })
    }
  }
})

test('while it runs another request under the header is 400, and so is a header that is none', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  play(nativeStream(START, { when: gate }, ...REST))
  const receipts = await receiptsOf(async () => {
    const running = await ask({ stream: true })
    try {
      const other = await ask({ stream: true, more: { max_tokens: 3 } })
      expect([other.status, other.headers.get('x-should-retry')]).toEqual([400, 'false'])
      expect(await other.text()).toContain('Idempotency-Key: was used with another request')
      expect((await ask({ stream: true }, 'bad key')).status).toBe(400)
    } finally {
      open()
      await running.text()
    }
  })
  expect(receipts).toHaveLength(1)
})

test('a client that leaves in the middle finds the whole answer later, charged once and in full', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  play(nativeStream(START, REST[0] ?? '', { when: gate }, ...REST.slice(1)))
  const [receipt, ...more] = await receiptsOf(async () => {
    const connection = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    await connection.until((received) => Buffer.from(received).includes('event: content_block_start'))
    connection.reset()
    await Bun.sleep(50)
    open()
    await gateway.idle()
    const answer = await ask({ stream: true })
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('message_stop')])
    expect(answer.headers.get('idempotency-replayed')).toBe('true')
  })
  expect(more).toEqual([])
  expect(receipt).toMatchObject({ outcome: 'complete', basis: 'final' })
})

test('also one that took no bytes until it left: nobody is slow any more', async () => {
  play(nativeStream(START, ...textFrames('x'.repeat(7_000_000)).slice(1)))
  const [receipt] = await receiptsOf(async () => {
    const arrival = upstream.arrival(upstream.requests.length)
    const connection = await stage.askRaw({ stream: true }, { 'idempotency-key': header })
    connection.pause()
    const request = await arrival
    await untilStill(() => request.sentBytes, 'the client takes no bytes')
    connection.reset()
    await gateway.idle()
    const answer = await ask({ stream: true })
    expect([answer.headers.get('idempotency-replayed'), (await answer.text()).length > 7_000_000]).toEqual(['true', true])
  })
  expect(receipt?.outcome).toBe('complete')
})

test('an answer that was cut and charged is replayed as it was sent, with its error', async () => {
  await using short = await startTestGateway({ upstreams: [upstream.url], limits: { totalTimeoutMs: 2_000 } })
  const key = await short.createKey()
  const { path, body } = question({ stream: true })
  const post = () => short.post(path, key, body, { headers: { ...headers(), authorization: `Bearer ${key}` } })
  play(nativeStream(START, ...REST.slice(0, 2), { stall: true }))
  const sent = await (await post()).text()
  expect(sent).toContain('Service timed out')
  await short.idle()
  const again = await post()
  expect([again.headers.get('idempotency-replayed'), await again.text()]).toEqual(['true', sent])
  expect(short.receipts().map(({ outcome, costPicos }) => [outcome, costPicos > 0n])).toEqual([['deadline', true]])
})

test('a refusal of ours leaves the header free', async () => {
  for (let again = 0; again < 2; again++) expect(await (await ask({ model: 'nobody' })).text()).toContain('Model nobody is not available')
  play(nativeMessage(MESSAGE))
  expect((await ask({})).status).toBe(200)
})

test('an answer that failed is generated anew, and only that one is charged', async () => {
  const receipts = await receiptsOf(async () => {
    play(errorAnswer(500, {}))
    expect((await ask({ stream: true })).status).toBe(502)
    // A reset takes along what has not been read.
    play([...nativeStream(START, REST[0] ?? '').slice(0, 3), { delayMs: 50 }, { reset: true }])
    expect(await (await ask({ stream: true })).text()).toContain('event: error')
    await gateway.idle()
    play(nativeStream(START, ...REST))
    const answer = await ask({ stream: true })
    expect(answer.headers.get('idempotency-replayed')).toBeNull()
    expect(await answer.text()).toContain('message_stop')
  })
  expect(receipts.filter(({ costPicos }) => costPicos > 0n)).toHaveLength(1)
})

test('what memory has no more room for is given again from disk', async () => {
  play(nativeStream(...textFrames('x'.repeat(3 * 1024 * 1024))))
  const first = await ask({ stream: true })
  const bytes = await first.text()
  await gateway.idle()
  // Three more of the same account push the first one out.
  for (const other of ['b', 'c', 'd']) await (await ask({ stream: true }, `${header}-${other}`)).text()
  await gateway.idle()
  const calls = upstream.requests.length
  const again = await ask({ stream: true })
  expect(await again.text()).toBe(bytes.replace(/^: ok\n\n/, ''))
  expect(again.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
  expect(upstream.requests).toHaveLength(calls)
})

test('what has no room is sent and charged, and its repetition is refused for good', async () => {
  const [start = '', open = '', delta = '', ...rest] = textFrames('x'.repeat(3 * 1024 * 1024))
  play(nativeStream(start, open, delta, delta, delta, ...rest))
  const [receipt] = await receiptsOf(async () => {
    const first = await ask({ stream: true })
    expect((await first.text()).length).toBeGreaterThan(9 * 1024 * 1024)
    await gateway.idle()
  })
  expect(receipt?.outcome).toBe('complete')
  const gone = await ask({ stream: true })
  expect([gone.status, gone.headers.get('x-should-retry')]).toEqual([400, 'false'])
  expect(await gone.text()).toContain(`Idempotency-Key was used by request ${receipt?.requestId}, whose answer is no longer kept`)
})

test('a restart that keeps answers in memory only forgets them, but not that they were charged', async () => {
  await using one = await startTestGateway({ upstreams: [upstream.url], limits: { keptAnswersBytes: 0 } })
  const key = await one.createKey()
  const { path, body } = question({ stream: true })
  const post = (at: typeof one) => at.post(path, key, body, { headers: { ...headers('restart'), authorization: `Bearer ${key}` } })
  play(nativeStream(START, ...REST))
  await (await post(one)).text()
  await one.idle()
  await one.drain()
  await using two = await startTestGateway({ upstreams: [upstream.url], ledgerPath: one.ledgerPath, limits: { keptAnswersBytes: 0 } })
  const calls = upstream.requests.length
  expect(await (await post(two)).text()).toContain('whose answer is no longer kept')
  expect(upstream.requests).toHaveLength(calls)
})

test('a thousand-fold storm of retries, cut after any number of bytes, is one charge', async () => {
  play(nativeStream(START, { delayMs: 30 }, ...REST))
  const { path, body } = question({ stream: true })
  const sent = rawRequest('POST', path, headers(), JSON.stringify(body))
  const calls = upstream.requests.length
  const receipts = await receiptsOf(async () => {
    let cut = 0
    const storm = async (): Promise<void> => {
      while (cut < 1_000) {
        const bytes = cut++
        const connection = await connectRaw(gateway.url)
        await connection.send(sent)
        await connection.until((received) => received.length >= bytes % 300)
        connection.reset()
      }
    }
    await Promise.all(Array.from({ length: 10 }, storm))
    const answer = await ask({ stream: true })
    expect(await answer.text()).toContain('message_stop')
  })
  expect(receipts).toHaveLength(1)
  expect(upstream.requests.length - calls).toBe(1)
})
